// The values of a pickle that torch.save wrote; their tensors stay in the file.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "memory/ledger.h"
#include "pickle/parse.h"
#include "train/value.h"

namespace plimsoll::train {

constexpr uint64_t kMostValueBytes = 512 * kMiB;

// Copies the dict that the pickle is, and all it refers to, out of its objects. `lease` grows by
// what that takes, before it is taken. Throws Error{input} where it holds what is no value, or
// itself, or would take more than kMostValueBytes or than a pickle of `pickle_bytes` can honestly
// need: a few bytes can ask for any number of copies.
PyDict values_of(const pickle::Pickle& pickle, uint64_t pickle_bytes, memory::Ledger& ledger,
                 memory::Lease& lease);

}  // namespace plimsoll::train
