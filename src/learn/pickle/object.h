// What the instructions of a pickle make: objects that refer to each other, as Python's do. One may
// be referred to a thousand times, or hold itself. Texts point into the pickle's bytes, and tensors
// are descriptions: their numbers lie beside the pickle.
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
// Numbers beside the pickle, under a name.
struct Storage {
  std::string_view type;  // in the Python module torch: "FloatStorage"
  std::string_view name;
  int64_t count = 0;
};
// A view of a storage that stays within it.
struct Tensor {
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
  std::variant<std::monostate, bool, int64_t, double, std::string_view, const Tensor*, List, Tuple,
               Dict, const Storage*, const Global*>
      any;
};

// As Python names it: "int", "dict", "Tensor".
std::string_view type_name(const Object& object);

}  // namespace plimsoll::pickle
