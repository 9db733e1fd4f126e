#include "train/value.h"

#include <array>

namespace plimsoll::train {
namespace {

// In the order of Value::Any.
constexpr std::array<std::string_view, std::variant_size_v<Value::Any>> kTypeNames = {
    "None", "bool", "int", "float", "str", "Tensor", "list", "dict", "Tensor"};

template <typename T>
std::string_view python_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, int64_t>) return "int";
  if constexpr (std::is_same_v<T, double>) return "float";
  if constexpr (std::is_same_v<T, std::string>) return "str";
  if constexpr (std::is_same_v<T, at::Tensor>) return "Tensor";
  if constexpr (std::is_same_v<T, StoredTensor>) return "Tensor";
  if constexpr (std::is_same_v<T, List>) return "list";
  if constexpr (std::is_same_v<T, Dict>) return "dict";
}

std::string words(const Key& key) {
  if (const auto* number = std::get_if<int64_t>(&key)) return fmt::format("{}", *number);
  return fmt::format("'{}'", std::get<std::string>(key));
}

// What the value holds as T, null where it is of another type; `widened` is the place for an int
// that is asked for as a double.
template <typename T>
const T* held(const Value& value, [[maybe_unused]] double& widened) {
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

Dict::Dict() = default;
Dict::Dict(const Dict& other) = default;
Dict::Dict(Dict&& other) noexcept = default;
Dict& Dict::operator=(const Dict& other) = default;
Dict& Dict::operator=(Dict&& other) noexcept = default;
Dict::~Dict() = default;

Dict::Dict(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) (*this)[entry.key] = entry.value;
}

Value& Dict::operator[](const Key& key) {
  const auto [found, is_new] = index_.try_emplace(key, entries_.size());
  if (is_new) entries_.push_back({key, Value()});
  return entries_[found->second].value;
}

const Value* Dict::find(const Key& key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &entries_[found->second].value;
}

const Value& Dict::at(const Key& key) const {
  const Value* value = find(key);
  if (value == nullptr) fail(ErrorKind::input, "the key {} is missing", words(key));
  return *value;
}

template <typename T>
std::conditional_t<std::is_arithmetic_v<T>, T, const T&> Dict::get(const Key& key) const {
  const Value& value = at(key);
  double widened = 0;
  if (const T* result = held<T>(value, widened)) return *result;
  fail(ErrorKind::input, "the key {} holds a value of type {}, {} was expected", words(key),
       value.type_name(), python_name<T>());
}

template <typename T>
std::conditional_t<std::is_arithmetic_v<T>, T, const T&> Value::as() const {
  double widened = 0;
  if (const T* result = held<T>(*this, widened)) return *result;
  fail(ErrorKind::input, "a value is of type {}, {} was expected", type_name(), python_name<T>());
}

std::string_view Value::type_name() const { return kTypeNames.at(any_.index()); }

template bool Value::as<bool>() const;
template int64_t Value::as<int64_t>() const;
template double Value::as<double>() const;
template const std::string& Value::as<std::string>() const;
template const at::Tensor& Value::as<at::Tensor>() const;
template const StoredTensor& Value::as<StoredTensor>() const;
template const List& Value::as<List>() const;
template const Dict& Value::as<Dict>() const;
template bool Dict::get<bool>(const Key&) const;
template int64_t Dict::get<int64_t>(const Key&) const;
template double Dict::get<double>(const Key&) const;
template const std::string& Dict::get<std::string>(const Key&) const;
template const at::Tensor& Dict::get<at::Tensor>(const Key&) const;
template const StoredTensor& Dict::get<StoredTensor>(const Key&) const;
template const List& Dict::get<List>(const Key&) const;
template const Dict& Dict::get<Dict>(const Key&) const;

}  // namespace plimsoll::train
