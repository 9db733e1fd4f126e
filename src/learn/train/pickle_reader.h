// Turns the objects of a pickle that torch.save wrote into values. The tensors stay in the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "memory/ledger.h"
#include "pickle/pickle.h"
#include "train/value.h"

namespace plimsoll::train {

constexpr uint64_t kMostValueBytes = 512 * kMiB;

// A list of dicts in a file that is handed over one by one, so that a long one is never in memory
// as values. Its own value is then an empty list.
struct StreamedList {
  std::vector<std::string> keys;  // the way to it, from the outermost dict
  uint64_t row_bytes = 0;         // what `take` keeps of a row; leased with the values
  std::function<void(const PyDict& row, size_t rows)> take;
};

// Copies the pickle's dict and everything it refers to. Extends `lease` before it allocates. Throws
// Error{input} if the pickle contains something that is not a plain value, or contains itself, or
// if the values would take more than kMostValueBytes or more than a normal pickle of `pickle_bytes`
// needs: a few bytes can refer to the same objects any number of times. `streamed` may be null.
PyDict values_of(const pickle::Pickle& pickle, uint64_t pickle_bytes, memory::Ledger& ledger,
                 memory::Lease& lease, const StreamedList* streamed = nullptr);

}  // namespace plimsoll::train
