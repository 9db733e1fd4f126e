// Values as the pickle of a checkpoint, in the dialect of torch.save, and back. A tensor is a call
// of torch._utils._rebuild_tensor_v2 on a storage that the pickle names and does not hold: its
// numbers are in a file of the archive (train/torch_file.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "memory/ledger.h"
#include "pickle/pickle.h"
#include "train/value.h"

namespace plimsoll::train {

// ---- writing ----

using TakeBytes = std::function<void(std::string_view bytes)>;

// Hands a pickle of protocol 2 over piece by piece. Returns the tensors: number i is named "i" in
// the pickle, and its values lie in row order in its storage. Throws Error{input} for text that is
// not UTF-8 and Error{internal} for a tensor of a type that torch.save has no name for or without
// plain dense numbers.
std::vector<at::Tensor> write_pickle(const PyDict& dict, const TakeBytes& take);

// ---- reading ----

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
