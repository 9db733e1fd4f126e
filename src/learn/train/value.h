// The plain Python values of a checkpoint, as torch.load would show them. A value owns what it
// holds and copies deeply, all but tensors: as everywhere in torch, a copy shares its numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
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

// A tensor that is still in its file: a view of the numbers under data/`storage`, within them.
struct StoredTensor {
  std::string storage;
  at::ScalarType type = at::ScalarType::Undefined;
  int64_t count = 0;  // numbers in the storage
  int64_t offset = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

// A Python list; tuples are read as lists too. `List(other)` copies, `List{other}` nests.
using PyList = std::vector<PyValue>;

using Key = std::variant<int64_t, std::string>;

// As in Python, in the order of insertion; optimizers count their parameters by integer keys.
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

  // Makes the entry, as None, where there is none.
  PyValue& operator[](const Key& key);

  // Null where there is none. As every pointer and reference here, it lasts until the next insert.
  const PyValue* find(const Key& key) const;

  // Throws Error{input} with the key where there is none.
  const PyValue& at(const Key& key) const;

  // at(key) as Value::as<T>() has it; the Error{input} names the key and both types.
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
                           PyDict, std::shared_ptr<const StoredTensor>>;

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
  // NOLINTEND(google-explicit-constructor)

  const Any& any() const { return any_; }
  bool is_none() const { return std::holds_alternative<std::monostate>(any_); }
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(any_);
  }

  // T is one of the types in Any but None, and StoredTensor stands for what points at it; a double
  // may be written as an int, as Python's 1 for 1.0. Throws Error{input} with both types for any
  // other.
  template <typename T>
  std::conditional_t<std::is_arithmetic_v<T>, T, const T&> as() const;

  // As Python names it: "int", "dict", "Tensor".
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
