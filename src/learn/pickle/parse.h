// Reads the pickles that torch.save writes of plain values and tensors, as objects; free of torch.
//
// libtorch's own unpickler will not do: it is made for TorchScript, gives up on the OrderedDict
// with attributes that every Module.state_dict() is, and trusts its input. This one knows the few
// instructions and names of such a pickle and refuses all others; nothing in a file is ever called.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>

#include "base/units.h"
#include "memory/ledger.h"
#include "pickle/object.h"

namespace plimsoll::pickle {

constexpr uint64_t kMostPickleBytes = 64 * kMiB;
// Of the objects: an instruction of one byte can make one of 64. The checkpoint of a run of 100,000
// epochs needs 100 MiB.
constexpr uint64_t kMostObjectBytes = 256 * kMiB;

class Pickle {
 public:
  // Leases ("checkpoint values") what its objects take before it takes it. Throws Error{input},
  // without the name of the file, for whatever it cannot read, and Error{memory} for a refused
  // lease. The bytes must outlive the pickle, and so must the ledger.
  Pickle(std::string_view bytes, memory::Ledger& ledger);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  const Object& root() const { return *root_; }

 private:
  friend class Parser;
  // Must come before so many bytes are allocated.
  void reserve(uint64_t bytes);

  memory::Ledger& ledger_;
  memory::Lease lease_;
  uint64_t reserved_bytes_ = 0;
  std::deque<Object> objects_;
  std::deque<Storage> storages_;
  std::deque<Tensor> tensors_;
  std::deque<Global> globals_;
  const Object* root_ = nullptr;
};

}  // namespace plimsoll::pickle
