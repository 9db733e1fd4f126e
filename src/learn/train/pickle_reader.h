// Turns the objects of a pickle that torch.save wrote into values. The tensors stay in the file.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "memory/ledger.h"
#include "pickle/parse.h"
#include "train/value.h"

namespace plimsoll::train {

constexpr uint64_t kMostValueBytes = 512 * kMiB;

// Copies the pickle's dict and everything it refers to. Extends `lease` before it allocates. Throws
// Error{input} if the pickle contains something that is not a plain value, or contains itself, or
// if the values would take more than kMostValueBytes or more than a normal pickle of `pickle_bytes`
// needs: a few bytes can refer to the same objects any number of times.
PyDict values_of(const pickle::Pickle& pickle, uint64_t pickle_bytes, memory::Ledger& ledger,
                 memory::Lease& lease);

}  // namespace plimsoll::train
