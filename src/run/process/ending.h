// How a supervised command ended, as facts: what the kernel said, what we did, what was measured.
// What they mean is decided elsewhere, by a pure function over this struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace plimsoll::process {

struct Exited {
  int code = 0;
};
struct Signaled {
  int number = 0;
};
struct NotStarted {
  int error = 0;     // errno of the attempt
  std::string what;  // the file that could not be executed
};
using LeaderEnd = std::variant<Exited, Signaled, NotStarted>;

// Why we ended the tree before its leader had ended.
enum class Cut { none, timeout, idle, memory_watch, interrupted };

struct MemoryFacts {
  std::optional<uint64_t> limit_bytes;
  bool enforced_by_kernel = false;     // a cgroup's limit; otherwise the tree was watched
  std::optional<uint64_t> peak_bytes;  // of the whole tree
  uint64_t own_limit_hits = 0;         // how often the tree ran into its own group's limit
  uint64_t group_oom_kills = 0;        // processes of the tree that an OOM killer ended
  std::string counted_in;              // the file of the two: "memory.events"
  uint64_t host_oom_kills = 0;         // on the whole machine, while the command ran
  std::string largest_process;         // the command line of the largest one seen
  uint64_t largest_process_bytes = 0;
};

struct Ending {
  std::vector<std::string> command;
  LeaderEnd leader;
  Cut cut = Cut::none;
  int interrupting_signal = 0;   // with Cut::interrupted
  double seconds = 0;            // from start to end
  double cut_after_seconds = 0;  // the --timeout or --idle-timeout that was exceeded
  MemoryFacts memory;
  std::string level;             // how the tree was held together: see level.h
  uint64_t leftovers_ended = 0;  // descendants that were alive when the leader had ended
  std::string output_tail;       // the last of what it wrote, where that was seen
  std::string run;               // its name in the registry
  double cpu_seconds = 0;        // of all its processes that were waited for
  bool keeper_lost = false;      // the keeper was killed, and the tree was ended for that
  bool keeper_given_up = false;  // by us, because it was stopped again and again
  int handed_on_signal = 0;  // the last that plimsoll was sent for the command, or that was typed
  bool typed_interrupt = false;  // Ctrl-C at the terminal, which command and plimsoll both got
  std::string hang_report;       // with Cut::idle: where each of its threads was
};

// The command's own code, 128 + n for a signal, or one of these.
constexpr int kExitHung = 121;
constexpr int kExitMemoryLimit = 122;
constexpr int kExitTimeout = 124;  // as timeout(1) has it
constexpr int kExitNotExecutable = 126;
constexpr int kExitNotFound = 127;
int exit_code(const Ending& ending);

// Whether the tree was ended because of its own --memory, by the kernel or by us.
bool hit_own_limit(const Ending& ending);

}  // namespace plimsoll::process
