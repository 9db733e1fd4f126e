// The fastest setting for a limit, by predicted time. A batch size changes what is learned, so this
// is advice: a training never follows it by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "plan/probe.h"
#include "plan/question.h"

namespace plimsoll::plan {

struct Setting {
  uint64_t batch_size = 0;
  unsigned workers = 0;  // 0 = left to the training, which chooses the same
  Plan plan;
};

struct Fastest {
  Setting best;
  std::vector<Setting>
      others;  // the fastest for each batch size that fits, by batch size; best too
};

struct Freedom {
  std::vector<uint64_t> batch_sizes;  // that may be chosen; empty = the question's own alone
  bool workers = true;
};

// Powers of two around the default, up to what the store has use for.
std::vector<uint64_t> usual_batch_sizes(const Question& question);

// Where nothing fits, `others` is empty and best the question's own plan. The question's own stays
// unless the fastest is faster by more than such a prediction is worth; nothing else is chosen that
// is slower than another.
Fastest find_fastest(const Question& question, const Draws& draws, const Freedom& freedom);

}  // namespace plimsoll::plan
