// The plain Python values of a checkpoint, as torch.load returns them. A value owns its content,
// and a copy is deep, except for tensors: as everywhere in torch, a copied tensor shares its
// numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace plimsoll::train {

class PyValue;

// A tensor that is still in its file: a view of the numbers in data/`storage`; stays within them.
struct StoredTensor {
  std::string storage;
  at::ScalarType type = at::ScalarType::Undefined;
  int64_t count = 0;  // numbers in the storage
  int64_t offset = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

// A Python list; tuples are also read as lists. `PyList(other)` copies, `PyList{other}` nests.
using PyList = std::vector<PyValue>;

class PyDict;

// A list of dicts that are made one at a time while the list is written, so a long list takes no
// memory. Whatever `row` refers to must stay as it is until then. Files give it back as a PyList.
struct PyRows {
  size_t count = 0;
  std::function<PyDict(size_t i)> row;
};

using Key = std::variant<int64_t, std::string>;

// A Python dict, in the order of insertion. Optimizers use integer keys for their parameters.
class PyDict {
 public:
  struct Entry;

  PyDict();
  PyDict(std::initializer_list<Entry> entries);
  PyDict(const PyDict& other);
  PyDict(PyDict&& other) noexcept;
  PyDict& operator=(const PyDict& other);
  PyDict& operator=(PyDict&& other) noexcept;
  ~PyDict();

  // Adds an entry with None if the key is missing.
  PyValue& operator[](const Key& key);

  // Null if the key is missing. All pointers and references are valid until the next insertion.
  const PyValue* find(const Key& key) const;

  // Throws Error{input} with the key if it is missing.
  const PyValue& at(const Key& key) const;

  // at(key).as<T>(), but the Error{input} names the key and both types.
  template <typename T>
  std::conditional_t<std::is_arithmetic_v<T>, T, const T&> get(const Key& key) const;

  size_t size() const { return index_.size(); }
  bool empty() const { return index_.empty(); }
  std::vector<Entry>::const_iterator begin() const;
  std::vector<Entry>::const_iterator end() const;

 private:
  std::vector<Entry> entries_;
  std::map<Key, size_t> index_;  // into entries_
};

class PyValue {
 public:
  using Any = std::variant<std::monostate, bool, int64_t, double, std::string, at::Tensor, PyList,
                           PyDict, std::shared_ptr<const StoredTensor>, PyRows>;

  // Implicit, so that dict["epoch"] = 3 reads as in Python.
  // NOLINTBEGIN(google-explicit-constructor)
  PyValue() = default;  // None
  template <std::same_as<bool> T>
  PyValue(T value) : any_(value) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) PyValue(T value) : any_(static_cast<int64_t>(value)) {
    if (!std::in_range<int64_t>(value)) {
      fail(ErrorKind::internal, "the number {} is too large for a checkpoint", value);
    }
  }
  template <std::floating_point T>
  PyValue(T value) : any_(static_cast<double>(value)) {}
  PyValue(const char* text) : any_(std::string(text)) {}
  PyValue(std::string_view text) : any_(std::string(text)) {}
  PyValue(std::string text) : any_(std::move(text)) {}
  PyValue(at::Tensor tensor) : any_(std::move(tensor)) {}
  PyValue(PyList list) : any_(std::move(list)) {}
  PyValue(PyDict dict) : any_(std::move(dict)) {}
  PyValue(std::shared_ptr<const StoredTensor> tensor) : any_(std::move(tensor)) {}
  PyValue(PyRows rows) : any_(std::move(rows)) {}
  // NOLINTEND(google-explicit-constructor)

  const Any& any() const { return any_; }
  bool is_none() const { return std::holds_alternative<std::monostate>(any_); }
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(any_);
  }

  // T is one of the types in Any except None, or StoredTensor for the pointer to it. An int is also
  // accepted as a double, like Python's 1 for 1.0. Throws Error{input} with both types if the value
  // has another type.
  template <typename T>
  std::conditional_t<std::is_arithmetic_v<T>, T, const T&> as() const;

  // The name in Python: "int", "dict", "Tensor".
  std::string_view type_name() const;

 private:
  Any any_;
};

struct PyDict::Entry {
  Key key;
  PyValue value;
};

inline std::vector<PyDict::Entry>::const_iterator PyDict::begin() const { return entries_.begin(); }
inline std::vector<PyDict::Entry>::const_iterator PyDict::end() const { return entries_.end(); }

}  // namespace plimsoll::train
