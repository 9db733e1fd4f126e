// Reads pickles that torch.save writes for plain values and tensors. Does not need torch.
//
// libtorch's own unpickler cannot be used: it is made for TorchScript, fails on the OrderedDict
// with attributes that every Module.state_dict() is, and trusts its input. This parser knows the
// few instructions and names of such a pickle and refuses all others; it never calls code named in
// a file.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>

#include "base/units.h"
#include "memory/ledger.h"
#include "pickle/object.h"

namespace plimsoll::pickle {

constexpr uint64_t kMostPickleBytes = 64 * kMiB;
// Limits the memory of the objects, because an instruction of one byte can make an object of 64.
// The checkpoint of a run with 100,000 epochs needs 100 MiB.
constexpr uint64_t kMostObjectBytes = 256 * kMiB;

// The most that one instruction allocates: an object and a pointer each on the stack and in a
// container, both in arrays that double; or an entry of the memo.
constexpr uint64_t kInstructionBytes = 64;
// A Pickle leases its memory in such steps.
constexpr uint64_t kLeaseStepBytes = 64 * kKiB;

class Pickle {
 public:
  // Leases memory ("checkpoint values") before it allocates objects. Throws Error{input}, without
  // the name of the file, if it cannot read the bytes, and Error{memory} if a lease is refused. The
  // bytes and the ledger must outlive the Pickle.
  Pickle(std::string_view bytes, memory::Ledger& ledger);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  const Object& root() const { return *root_; }

 private:
  friend class Parser;
  // Call before allocating so many bytes.
  void reserve(uint64_t bytes);

  memory::Ledger& ledger_;
  memory::Lease lease_;
  uint64_t reserved_bytes_ = 0;
  std::deque<Object> objects_;
  std::deque<Storage> storages_;
  std::deque<TensorObject> tensors_;
  std::deque<Global> globals_;
  const Object* root_ = nullptr;
};

}  // namespace plimsoll::pickle
