// Reads the pickles that torch.save writes of plain values and tensors.
//
// libtorch's own unpickler will not do: it is made for TorchScript, gives up on the OrderedDict
// with attributes that every Module.state_dict() is, and trusts its input. This one knows the few
// instructions and names of such a pickle and refuses all others; nothing in a file is ever called.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <string_view>

#include "train/value.h"

namespace plimsoll::train {

// The numbers that lie beside the pickle under a name: a tensor of one dimension and `count`
// numbers. Called again for the same name, it should give the same tensor.
using LoadStorage =
    std::function<at::Tensor(const std::string& name, at::ScalarType type, int64_t count)>;

// Throws Error{input}, without the name of the file, for whatever it cannot read.
Dict read_pickle(std::string_view pickle, const LoadStorage& load_storage);

}  // namespace plimsoll::train
