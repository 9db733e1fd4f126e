// Reads /proc for one process or for all of them. Every result is a snapshot: the process may have
// ended since, and its pid may belong to another process (see process_ref.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::process {

// A /proc that shows the PID namespace of this process. Usually "/proc". If /proc belongs to
// another PID namespace (`unshare --pid` without `--mount-proc`), it is a detached mount of our
// own. Empty if this user may not mount one: then no pid can be looked up.
const std::string& proc_folder();

struct ProcessStat {
  pid_t pid = 0;
  std::string name;  // of its program, at most 15 characters
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  uint64_t cpu_ticks = 0;    // user and system, of all its threads
  uint64_t start_ticks = 0;  // start time, since boot; pid and start_ticks identify a process
  uint64_t resident_bytes = 0;

  // A zombie counts as ended: it keeps its pid, but has no memory and runs no code.
  bool alive() const { return state != 'Z' && state != 'X' && state != 'x'; }
};

// Parses a line of /proc/PID/stat; the program name may contain blanks and parentheses.
std::optional<ProcessStat> parse_stat(std::string_view line);

std::optional<ProcessStat> read_stat(pid_t pid);

// All processes that could be read, sorted by pid. Costs about ten microseconds per process.
std::vector<ProcessStat> all_processes();

// The command line with blanks between the words; "[name]" if the process has no command line.
std::string command_line(pid_t pid);

// An environment variable as it was when the process started its program; nothing if it is not set
// or may not be read.
std::optional<std::string> environment_value(pid_t pid, std::string_view variable);

// Proportional set size (PSS): a page that n processes map counts 1/n for each. Walks the page
// tables, which takes milliseconds for a large process.
std::optional<uint64_t> proportional_bytes(pid_t pid);

// The kernel's boot id (base/host.h), read once; "unknown" if the kernel does not say.
const std::string& boot_id();

double ticks_to_seconds(uint64_t ticks);

// The start time of a process with these start_ticks, in seconds since the epoch.
double start_time_of_day(uint64_t start_ticks);

}  // namespace plimsoll::process
