// Plain values as a Python pickle, protocol 2, in the dialect of torch.save: a tensor is a call of
// torch._utils._rebuild_tensor_v2 on a storage that the pickle names and does not hold.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string_view>
#include <vector>

#include "train/value.h"

namespace plimsoll::train {

using TakeBytes = std::function<void(std::string_view bytes)>;

// Hands the pickle over piece by piece. Returns the tensors: number i is named "i" in the pickle,
// and its values lie in row order in its storage. Throws Error{input} for text that is not UTF-8
// and Error{internal} for a tensor without a name in kStorageTypes or without plain dense numbers.
std::vector<at::Tensor> write_pickle(const PyDict& dict, const TakeBytes& take);

}  // namespace plimsoll::train
