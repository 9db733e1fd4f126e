// What one batch takes of tensors while it is computed, forward and backward: the second largest
// part of a plan for large batches, so it is counted tensor by tensor.
#pragma once

#include <cstdint>

#include "plan/footprint.h"

namespace plimsoll::plan {

uint64_t activation_bytes(const Work& work);

}  // namespace plimsoll::plan
