// Options that would help a plan that does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/probe.h"
#include "plan/question.h"

namespace plimsoll::plan {

// An option that would make a run need less memory.
struct Remedy {
  std::string options;         // as on the command line: "--batch-size 256"
  uint64_t minimum_bytes = 0;  // the least limit with these options
  bool enough = false;         // whether it then fits into the question's limit
};

// Smaller and smaller fan-outs with the same number of layers, down to one neighbour per layer:
// 15,10 -> 8,5 -> 4,3 -> ...
std::vector<std::vector<uint32_t>> smaller_fanouts(const std::vector<uint32_t>& fanout);

struct FanoutDraws {
  std::vector<uint32_t> fanout;
  Draws draws;
};

// One remedy for each of --batch-size, --fanout, --hidden and --workers that lowers the minimum:
// with the largest value that is enough, else with the smallest value. If none is enough, one more
// remedy combines the smallest values of all. `smaller` are draws for smaller_fanouts(), in the
// same order.
std::vector<Remedy> find_remedies(const Question& question, const Draws& draws,
                                  const std::vector<FanoutDraws>& smaller);

}  // namespace plimsoll::plan
