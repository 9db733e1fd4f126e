// The training that runs beside another one: started again when it ends, watched, and gone when
// this goes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "experiment/supervised_child.h"

namespace plimsoll::experiment {

class BackgroundLoad {
 public:
  // `options.output_folder` is where each run gets a folder of its own.
  BackgroundLoad(ChildOptions options, std::optional<uint64_t> most_runs);

  // To be called often. Starts it again where it has ended; says what was wrong with it.
  std::optional<std::string> look();

  // After three runs that were no load: an immediate exit, or no CPU use.
  bool invalid() const { return bad_runs_ >= kMostBadRuns; }
  size_t runs() const { return runs_; }

 private:
  static constexpr unsigned kMostBadRuns = 3;
  void start();

  ChildOptions options_;
  std::optional<uint64_t> most_runs_;
  std::unique_ptr<SupervisedChild> child_;
  size_t runs_ = 0;
  unsigned bad_runs_ = 0;
};

// Why this run was no load; nothing where it was one. Pure.
std::optional<std::string> idle_because(const ChildEnd& end, bool uses_gpus);

}  // namespace plimsoll::experiment
