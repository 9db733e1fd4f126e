// What would make a training fit that does not: each thing the user can lower, with the least
// memory it then needs. Computed like the plan itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/draw.h"
#include "plan/question.h"

namespace plimsoll::plan {

struct Remedy {
  std::string options;         // "--batch-size 256", as on the command line
  uint64_t minimum_bytes = 0;  // with them
  bool enough = false;         // for the limit
};

// Ever smaller fan-outs of as many layers, down to one neighbour each: 15,10 -> 8,5 -> 4,3 -> ...
std::vector<std::vector<uint32_t>> smaller_fanouts(const std::vector<uint32_t>& fanout);

struct FanoutDraws {
  std::vector<uint32_t> fanout;
  Draws draws;
};

// One for each of --batch-size, --fanout, --hidden and --workers that lowers the minimum: the
// largest value that is enough, else the smallest there is. Where none is enough, one more with all
// of them at their smallest. `smaller` are draws of smaller_fanouts(), in that order.
std::vector<Remedy> find_remedies(const Question& question, const Draws& draws,
                                  const std::vector<FanoutDraws>& smaller);

}  // namespace plimsoll::plan
