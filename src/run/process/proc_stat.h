// What /proc says about processes: one of them, or all there are. Everything here is a snapshot: by
// the time it is read a process may be gone, and its number somebody else's (process_ref.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::process {

// The /proc that numbers processes as this process does. Usually /proc; where that one belongs to
// another PID namespace (`unshare --pid` without `--mount-proc`), one of our own that has no place
// in the file system. Empty where this user may not have one: then nothing can be said of any pid.
const std::string& proc_folder();

struct ProcessStat {
  pid_t pid = 0;
  std::string name;  // of its program, at most 15 letters
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  uint64_t cpu_ticks = 0;    // user and system, of all its threads
  uint64_t start_ticks = 0;  // since the machine started; with the pid, an identity
  uint64_t resident_bytes = 0;

  // A zombie has ended: it holds a number, but no memory, and does nothing any more.
  bool alive() const { return state != 'Z' && state != 'X' && state != 'x'; }
};

// One line as /proc/PID/stat has it; a name may hold blanks and parentheses.
std::optional<ProcessStat> parse_stat(std::string_view line);

std::optional<ProcessStat> read_stat(pid_t pid);

// By pid, as far as they could be read. Costs some ten microseconds a process.
std::vector<ProcessStat> all_processes();

// With blanks between the words; the name in brackets where there is none.
std::string command_line(pid_t pid);

// A variable as it was when the process began its program; nothing where that may not be read.
std::optional<std::string> environment_value(pid_t pid, std::string_view variable);

// Its share of what it has in memory: pages that several processes map count in parts. Walks the
// process's page tables, milliseconds for a large one.
std::optional<uint64_t> proportional_bytes(pid_t pid);

// Another one after each start of the machine.
const std::string& boot_id();

// The number of this process's PID namespace. A pid means nothing in another one.
uint64_t pid_namespace();

double ticks_to_seconds(uint64_t ticks);

// Seconds since the epoch at which a process with these start_ticks began.
double start_time_of_day(uint64_t start_ticks);

}  // namespace plimsoll::process
