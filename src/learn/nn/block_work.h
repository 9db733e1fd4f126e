// How much work a block is that one thread computes. Free of torch: plans count the threads that a
// batch keeps busy.
#pragma once

#include <cstdint>

namespace plimsoll::nn {

constexpr int64_t kMultiplicationsABlock = 1024 * 1024;  // of a product, at least
constexpr int64_t kValuesABlock = 128 * 1024;  // for passes that do little with each value

}  // namespace plimsoll::nn
