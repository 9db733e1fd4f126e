// What the instructions of a pickle make: objects that refer to each other, as Python's do. One may
// be referred to a thousand times, or hold itself; values cannot.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "train/value.h"

namespace plimsoll::train {

struct Object;
using Objects = std::vector<Object*>;  // owned by the reader

struct ListObject {
  Objects items;
};
struct TupleObject {
  Objects items;
};
struct DictObject {
  Objects items;  // key, value, key, value ...
};
struct StorageObject {
  at::Tensor numbers;
};
struct GlobalObject {
  std::string_view name;  // of a function that makes objects, or empty: a storage type
  at::ScalarType type = at::ScalarType::Undefined;
};

struct Object {
  std::variant<std::monostate, bool, int64_t, double, std::string, at::Tensor, ListObject,
               TupleObject, DictObject, StorageObject, GlobalObject>
      any;
};

// As Python names it: "int", "dict", "Tensor".
std::string_view type_name(const Object& object);

// Copies a dict, and all it refers to, out of its objects. Throws Error{input} where it holds what
// is no value, or itself, or would take more than about max_bytes: a few bytes of pickle can ask
// for any number of copies.
Dict to_dict(const Object& object, size_t max_bytes);

}  // namespace plimsoll::train
