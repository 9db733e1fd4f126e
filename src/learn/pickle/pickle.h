// Pickles that torch.save writes for plain values and tensors: their instructions, the objects that
// they describe, and a parser. Does not need torch.
//
// libtorch's own unpickler cannot be used: it is made for TorchScript, fails on the OrderedDict
// with attributes that every Module.state_dict() is, and trusts its input. This parser knows the
// few instructions and names of such a pickle and refuses all others; it never calls code named in
// a file.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <variant>
#include <vector>

#include "base/units.h"
#include "memory/ledger.h"

namespace plimsoll::pickle {

// ---- the instructions of protocol 2 that torch.save uses ----

// A pickle is a program for a stack machine; Python's pickletools explains every instruction.
constexpr uint8_t kPickleProtocol = 2;

enum class Opcode : uint8_t {
  proto = 0x80,
  stop = '.',
  // Push a value.
  none = 'N',
  new_true = 0x88,
  new_false = 0x89,
  bin_int = 'J',      // 4 bytes, signed
  bin_int1 = 'K',     // 1 byte
  bin_int2 = 'M',     // 2 bytes
  long1 = 0x8a,       // 1 byte with the length, then a signed number
  bin_float = 'G',    // 8 bytes, big-endian
  bin_unicode = 'X',  // 4 bytes with the length, then UTF-8
  global = 'c',       // a Python name: two lines, module and name
  // Push a container, or add items to the container below them. appends, set_items and tuple take
  // all items above the last mark.
  mark = '(',
  empty_list = ']',
  append = 'a',
  appends = 'e',
  empty_dict = '}',
  set_item = 's',
  set_items = 'u',
  empty_tuple = ')',
  tuple = 't',
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  // The memo: store the top of the stack under a number, or push a stored object.
  bin_put = 'q',
  long_bin_put = 'r',
  bin_get = 'h',
  long_bin_get = 'j',
  bin_pers_id = 'Q',  // replace the top of the stack by the storage that it names
  reduce = 'R',       // call: pop arguments and function, push the result
  build = 'b',        // pop attributes and set them on the object below
};

// ---- the objects that a pickle describes ----

// They refer to each other as in Python: an object may be referred to many times, and may even
// contain itself. Strings point into the pickle's bytes. Tensors are only descriptions: their
// numbers are stored outside the pickle.
struct Object;
using Objects = std::vector<Object*>;  // owned by the Pickle

struct List {
  Objects items;
};
struct Tuple {
  Objects items;
};
struct Dict {
  Objects items;  // key, value, key, value ...
};
// A named array of numbers outside the pickle.
struct Storage {
  std::string_view type;  // a name in the Python module torch: "FloatStorage"
  std::string_view name;
  int64_t count = 0;
};
// A view of a storage; checked to stay within it.
struct TensorObject {
  const Storage* storage = nullptr;
  int64_t offset = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};
// A Python name: a function that makes objects, or a type of storage.
struct Global {
  std::string_view module;
  std::string_view name;
};

struct Object {
  std::variant<std::monostate, bool, int64_t, double, std::string_view, const TensorObject*, List,
               Tuple, Dict, const Storage*, const Global*>
      any;
};

// The name in Python: "int", "dict", "Tensor".
std::string_view type_name(const Object& object);

// ---- the parser ----

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
