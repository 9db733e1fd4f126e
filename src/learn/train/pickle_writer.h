// Plain values as a Python pickle, protocol 2, in the dialect of torch.save: a tensor is a call of
// torch._utils._rebuild_tensor_v2 on a storage that the pickle names and does not hold.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "train/value.h"

namespace plimsoll::train {

struct WrittenPickle {
  std::string bytes;
  std::vector<at::Tensor> storages;  // number i is named "i"; its values lie there in row order
};

// Throws Error{input} for text that is not UTF-8 and Error{internal} for a tensor without a name in
// kStorageTypes or without plain dense numbers.
WrittenPickle write_pickle(const PyDict& dict);

}  // namespace plimsoll::train
