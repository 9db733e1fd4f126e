// A training under `plimsoll exec`, as a child of the driver. It has its own session, so that
// Ctrl-C at the driver's terminal does not reach it, and it ends when the driver ends. exec gives
// the guarantees; this class only starts it and reads its result.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "experiment/terms.h"
#include "gate/policy.h"
#include "io/partial_file.h"
#include "process/tree.h"

namespace plimsoll::experiment {

// An environment variable of every process of a run; its value is the run's folder.
constexpr const char* kBatchVariable = "PLIMSOLL_BATCH";

// A variable NAME that is meant for the command and not for exec itself (LD_PRELOAD, PATH,
// XDG_STATE_HOME) is passed to exec as this prefix and NAME. It is passed in the environment and
// not as an option, because other users can see a command line.
constexpr std::string_view kCommandVariable = "PLIMSOLL_SET_";

struct ChildOptions {
  std::vector<std::string> command;
  std::vector<std::string> launcher;  // a program and words that start exec elsewhere; may be empty
  std::filesystem::path working_folder;
  std::filesystem::path output_folder;  // absolute, empty; gets log, result and exec's messages
  std::filesystem::path run_folder;
  gate::GpuSelection gpus;
  double gpu_wait_seconds = 0;
  double grace_seconds = process::kDefaultGraceSeconds;
  Terms terms;
};

// How the training ended, from exec's result. Without a result, `exit_code` is exec's own.
struct ChildEnd {
  bool ran = false;  // the command was started and its end is known
  int exit_code = 0;
  Cause cause = Cause::no_result;
  std::string headline;
  std::string evidence;
  std::string next_step;
  double seconds = 0;
  double cpu_seconds = 0;
  uint64_t peak_bytes = 0;
};

// The destructor ends the training and waits for its end.
class SupervisedChild {
 public:
  // Construct it in the main thread: the kernel ends the child when the thread that forked it ends.
  explicit SupervisedChild(const ChildOptions& options);
  SupervisedChild(const SupervisedChild&) = delete;
  SupervisedChild& operator=(const SupervisedChild&) = delete;
  ~SupervisedChild();

  pid_t pid() const { return pid_; }
  int fd() const { return pidfd_.get(); }  // becomes readable when the child has ended
  bool ended();
  void ask_to_end() const;

  // Call it after the child has ended.
  ChildEnd end() const;

 private:
  std::filesystem::path output_folder_;
  pid_t pid_ = 0;
  Fd pidfd_;
  std::optional<int> wait_status_;
};

// Called by exec: removes the variables with that prefix from its environment and returns them as
// "NAME=value". exec must have only one thread at that time.
std::vector<std::string> take_command_environment();

// `changes` to an environment, with those of `later` in the place of variables of the same name.
std::vector<std::string> joined_environment(std::vector<std::string> changes,
                                            const std::vector<std::string>& later);

// The value that the variable has with these changes to exec's own environment.
std::optional<std::string> variable_in(const std::vector<std::string>& changes,
                                       const std::string& name);

// How exec writes this result. That of an attempt in a batch needs no sync, because the batch
// copies it to its journal.
io::Sync sync_of_result(const std::filesystem::path& result);

// The words of exec's command line, starting with "plimsoll".
std::vector<std::string> exec_words(const ChildOptions& options);

// The free GPU memory that the attempt in this folder needs, if it failed because other processes
// held the GPU's memory; otherwise nothing.
std::optional<uint64_t> gpu_room_needed(const std::filesystem::path& attempt);

// Ends every process left over from a killed driver of this run; usually exec's keeper has already
// done so. Returns how many there were. Throws Error{io} if one cannot be killed.
size_t end_leftovers(const std::filesystem::path& run_folder);

}  // namespace plimsoll::experiment
