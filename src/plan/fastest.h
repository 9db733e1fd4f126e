// The fastest setting for a limit, by predicted time. A batch size changes what is learned, so this
// is advice: a training never follows it by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/draw.h"
#include "plan/plan.h"
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
  bool batch_size = true;  // may be chosen; else it is the question's
  bool workers = true;
};

// Powers of two around the default; the question's own, if it must stay.
std::vector<uint64_t> batch_sizes_to_try(const Question& question, const Freedom& freedom);

// Where nothing fits, `others` is empty and best the question's own plan. Something other than the
// question's own is chosen only if it is faster by more than such a prediction is worth.
Fastest find_fastest(const Question& question, const Draws& draws, const Freedom& freedom);

}  // namespace plimsoll::plan
