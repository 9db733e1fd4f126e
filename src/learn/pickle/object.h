// The objects that a pickle describes. They refer to each other as in Python: an object may be
// referred to many times, and may even contain itself. Strings point into the pickle's bytes.
// Tensors are only descriptions: their numbers are stored outside the pickle.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace plimsoll::pickle {

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

}  // namespace plimsoll::pickle
