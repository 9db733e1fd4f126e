// How a supervised command ended, as facts: what the kernel reported, what we did, what was
// measured. diagnosis/ interprets these facts with pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "process/tree.h"

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

// Why we ended the tree before its leader ended. The leader is the command's first process.
enum class Cut { none, timeout, idle, memory_watch, interrupted };

struct MemoryFacts {
  std::optional<uint64_t> limit_bytes;
  bool enforced_by_kernel = false;     // by a cgroup; otherwise plimsoll watched the tree
  std::optional<uint64_t> peak_bytes;  // of the whole tree
  uint64_t own_limit_hits = 0;         // how often the tree reached its own group's limit
  uint64_t group_oom_kills = 0;        // processes of the tree that an OOM killer ended
  std::string counted_in;              // the file with the two counters: "memory.events"
  uint64_t host_oom_kills = 0;         // on the whole machine, while the command ran
  std::string largest_process;         // command line of the largest process seen
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
  std::optional<Level> level;    // how the tree was held together
  uint64_t leftovers_ended = 0;  // descendants that were still alive when the leader ended
  std::string output_tail;       // the end of its output, if it could be observed
  std::string run;               // its name in the registry
  double cpu_seconds = 0;        // of all its processes that were waited for
  bool keeper_lost = false;      // the keeper was killed, so we ended the tree
  bool keeper_given_up = false;  // we killed the keeper because it was stopped repeatedly ...
  bool keeper_silent = false;    // ... or because it did not answer when it was needed
  int handed_on_signal = 0;      // the last signal forwarded to the command, or SIGQUIT if typed
  bool typed_interrupt = false;  // Ctrl-C at the terminal: the command and plimsoll both got it
  std::string hang_report;       // with Cut::idle: where each of its threads was waiting
};

// plimsoll's exit code for an ending: the command's own code, 128 + n for signal n, or one of
// these.
constexpr int kExitHung = 121;
constexpr int kExitMemoryLimit = 122;
constexpr int kExitTimeout = 124;  // the same as timeout(1)
constexpr int kExitNotExecutable = 126;
constexpr int kExitNotFound = 127;
int exit_code(const Ending& ending);

// Whether the kernel or plimsoll ended the tree because it exceeded its own --memory.
bool hit_own_limit(const Ending& ending);

}  // namespace plimsoll::process
