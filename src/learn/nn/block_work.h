// How much work one thread gets at a time. Does not need torch: plans use it to count the threads
// that a batch keeps busy.
#pragma once

#include <cstdint>

namespace plimsoll::nn {

constexpr int64_t kMultiplicationsABlock = 1024 * 1024;  // the least for a matrix product
constexpr int64_t kValuesABlock = 128 * 1024;  // for passes that do little with each value

}  // namespace plimsoll::nn
