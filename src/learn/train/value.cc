#include "train/value.h"

#include <array>

namespace plimsoll::train {
namespace {

// In the order of PyValue::Any.
constexpr std::array<std::string_view, std::variant_size_v<PyValue::Any>> kTypeNames = {
    "None", "bool", "int", "float", "str", "Tensor", "list", "dict", "Tensor", "list"};

template <typename T>
std::string_view python_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, int64_t>) return "int";
  if constexpr (std::is_same_v<T, double>) return "float";
  if constexpr (std::is_same_v<T, std::string>) return "str";
  if constexpr (std::is_same_v<T, at::Tensor>) return "Tensor";
  if constexpr (std::is_same_v<T, StoredTensor>) return "Tensor";
  if constexpr (std::is_same_v<T, PyList>) return "list";
  if constexpr (std::is_same_v<T, PyDict>) return "dict";
}

std::string words(const Key& key) {
  if (const auto* number = std::get_if<int64_t>(&key)) return fmt::format("{}", *number);
  return fmt::format("'{}'", std::get<std::string>(key));
}

// The value as T, or null if it has another type. An int that is requested as a double is stored in
// `widened`.
template <typename T>
const T* held(const PyValue& value, [[maybe_unused]] double& widened) {
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* number = std::get_if<int64_t>(&value.any())) {
      widened = static_cast<double>(*number);
      return &widened;
    }
  }
  if constexpr (std::is_same_v<T, StoredTensor>) {
    const auto* stored = std::get_if<std::shared_ptr<const StoredTensor>>(&value.any());
    return stored == nullptr ? nullptr : stored->get();
  } else {
    return std::get_if<T>(&value.any());
  }
}

}  // namespace

PyDict::PyDict() = default;
PyDict::PyDict(const PyDict& other) = default;
PyDict::PyDict(PyDict&& other) noexcept = default;
PyDict& PyDict::operator=(const PyDict& other) = default;
PyDict& PyDict::operator=(PyDict&& other) noexcept = default;
PyDict::~PyDict() = default;

PyDict::PyDict(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) (*this)[entry.key] = entry.value;
}

PyValue& PyDict::operator[](const Key& key) {
  const auto [found, is_new] = index_.try_emplace(key, entries_.size());
  if (is_new) entries_.push_back({key, PyValue()});
  return entries_[found->second].value;
}

const PyValue* PyDict::find(const Key& key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &entries_[found->second].value;
}

const PyValue& PyDict::at(const Key& key) const {
  const PyValue* value = find(key);
  if (value == nullptr) fail(ErrorKind::input, "the key {} is missing", words(key));
  return *value;
}

template <typename T>
std::conditional_t<std::is_arithmetic_v<T>, T, const T&> PyDict::get(const Key& key) const {
  const PyValue& value = at(key);
  double widened = 0;
  if (const T* result = held<T>(value, widened)) return *result;
  fail(ErrorKind::input, "the key {} holds a value of type {}, {} was expected", words(key),
       value.type_name(), python_name<T>());
}

template <typename T>
std::conditional_t<std::is_arithmetic_v<T>, T, const T&> PyValue::as() const {
  double widened = 0;
  if (const T* result = held<T>(*this, widened)) return *result;
  fail(ErrorKind::input, "a value is of type {}, {} was expected", type_name(), python_name<T>());
}

std::string_view PyValue::type_name() const { return kTypeNames.at(any_.index()); }

template bool PyValue::as<bool>() const;
template int64_t PyValue::as<int64_t>() const;
template double PyValue::as<double>() const;
template const std::string& PyValue::as<std::string>() const;
template const at::Tensor& PyValue::as<at::Tensor>() const;
template const StoredTensor& PyValue::as<StoredTensor>() const;
template const PyList& PyValue::as<PyList>() const;
template const PyDict& PyValue::as<PyDict>() const;
template bool PyDict::get<bool>(const Key&) const;
template int64_t PyDict::get<int64_t>(const Key&) const;
template double PyDict::get<double>(const Key&) const;
template const std::string& PyDict::get<std::string>(const Key&) const;
template const at::Tensor& PyDict::get<at::Tensor>(const Key&) const;
template const StoredTensor& PyDict::get<StoredTensor>(const Key&) const;
template const PyList& PyDict::get<PyList>(const Key&) const;
template const PyDict& PyDict::get<PyDict>(const Key&) const;

}  // namespace plimsoll::train
