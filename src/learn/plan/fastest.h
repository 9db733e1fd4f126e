// The fastest setting for a limit. The batch size changes what is learned, so this is only advice:
// a training never applies it by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "plan/probe.h"
#include "plan/question.h"

namespace plimsoll::plan {

struct Setting {
  uint64_t batch_size = 0;
  unsigned workers = 0;  // 0 = the plan chooses
  Plan plan;
};

struct Fastest {
  Setting best;
  // The fastest for each batch size that fits, in the order of the batch sizes tried.
  std::vector<Setting> others;
};

// What may be changed.
struct Freedom {
  std::vector<uint64_t> batch_sizes;  // to choose from; empty = only the question's
  bool workers = true;
};

// Powers of two around the default, up to what is useful for the store's training nodes.
std::vector<uint64_t> usual_batch_sizes(const Question& question);

// `best` is the question's own setting unless the fastest one is faster by more than the
// uncertainty of such a prediction. If nothing fits, `others` is empty and `best` is the question's
// own plan.
Fastest find_fastest(const Question& question, const Draws& draws, const Freedom& freedom);

}  // namespace plimsoll::plan
