// A training under `plimsoll exec`, as a child of the driver: a session of its own, so that Ctrl-C
// at the driver's terminal does not reach it, and an end that comes with the driver's. exec gives
// the guarantees; this only starts it, and reads what it says.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "experiment/terms.h"

namespace plimsoll::experiment {

// Every process of a run has this in its environment; its value is the run's folder.
constexpr const char* kBatchVariable = "PLIMSOLL_BATCH";

// A variable NAME that is the command's, and not exec's own (LD_PRELOAD, PATH, XDG_STATE_HOME), is
// handed to exec under this name before its own. In the environment, for others see a command line.
constexpr std::string_view kCommandVariable = "PLIMSOLL_SET_";

struct ChildOptions {
  std::vector<std::string> command;
  std::filesystem::path working_folder;
  std::filesystem::path output_folder;  // absolute and empty: log, result and exec's own words
  std::filesystem::path run_folder;
  std::string gpus;  // as --gpu; empty: none of our business
  double gpu_wait_seconds = 0;
  double grace_seconds = 10;
  Terms terms;
};

// What exec says about the end; where it left no result, `exit_code` is its own.
struct ChildEnd {
  bool ran = false;  // the command was started, and its end is known
  int exit_code = 0;
  Cause cause = Cause::no_result;
  std::string headline;
  std::string evidence;
  std::string next_step;
  double seconds = 0;
  double cpu_seconds = 0;
  uint64_t peak_bytes = 0;
};

// Ends the training, and waits for that, when it goes itself.
class SupervisedChild {
 public:
  // By the main thread: the kernel ends the child with the thread that made it.
  explicit SupervisedChild(const ChildOptions& options);
  SupervisedChild(const SupervisedChild&) = delete;
  SupervisedChild& operator=(const SupervisedChild&) = delete;
  ~SupervisedChild();

  pid_t pid() const { return pid_; }
  int fd() const { return pidfd_.get(); }  // readable once it has ended
  bool ended();
  void ask_to_end() const;

  // After its end.
  ChildEnd end() const;

 private:
  std::filesystem::path output_folder_;
  pid_t pid_ = 0;
  Fd pidfd_;
  std::optional<int> wait_status_;
};

// On exec's side: takes those variables out of its environment; as "NAME=value". To be called
// while it has one thread.
std::vector<std::string> take_command_environment();

// The words of that exec, without the program itself.
std::vector<std::string> exec_words(const ChildOptions& options);

// The room on a GPU with which the attempt of this folder would have fitted, had nobody else been
// on it; nothing where that was not what it failed of.
std::optional<uint64_t> gpu_room_needed(const std::filesystem::path& attempt);

// Ends every process that a killed driver of this run left; exec's own keeper has mostly done so.
// Returns how many there were.
size_t end_leftovers(const std::filesystem::path& run_folder);

}  // namespace plimsoll::experiment
