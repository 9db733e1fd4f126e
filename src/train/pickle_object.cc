#include "train/pickle_object.h"

#include <array>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace plimsoll::train {
namespace {

constexpr int kMaxDepth = 100;  // of lists and dicts in each other

class ValueMaker {
 public:
  explicit ValueMaker(size_t max_bytes) : bytes_left_(max_bytes) {}

  Dict to_dict(const DictObject& dict, int depth);

 private:
  Value to_value(const Object& object, int depth);
  List to_list(const Objects& items, int depth);
  void count_value(size_t bytes);

  size_t bytes_left_;
};

void ValueMaker::count_value(size_t bytes) {
  if (bytes > bytes_left_) {
    fail(ErrorKind::input, "its pickle repeats its values without end");
  }
  bytes_left_ -= bytes;
}

Value ValueMaker::to_value(const Object& object, int depth) {
  if (depth > kMaxDepth) {
    fail(ErrorKind::input, "it nests lists and dicts more than {} deep", kMaxDepth);
  }
  count_value(sizeof(Value));
  return std::visit(
      [&](const auto& held) -> Value {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<T, ListObject> || std::is_same_v<T, TupleObject>) {
          return to_list(held.items, depth + 1);
        } else if constexpr (std::is_same_v<T, DictObject>) {
          return to_dict(held, depth + 1);
        } else if constexpr (std::is_same_v<T, StorageObject> || std::is_same_v<T, GlobalObject>) {
          fail(ErrorKind::input, "it holds a {}, which is no value", type_name(object));
        } else {
          if constexpr (std::is_same_v<T, std::string>) count_value(held.size());
          return held;
        }
      },
      object.any);
}

List ValueMaker::to_list(const Objects& items, int depth) {
  List list;
  for (const Object* item : items) list.push_back(to_value(*item, depth));
  return list;
}

Dict ValueMaker::to_dict(const DictObject& dict, int depth) {
  Dict result;
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const Object& key = *dict.items[i];
    Value value = to_value(*dict.items[i + 1], depth);
    count_value(sizeof(Dict::Entry));
    if (const auto* number = std::get_if<int64_t>(&key.any)) {
      result[*number] = std::move(value);
    } else if (const auto* text = std::get_if<std::string>(&key.any)) {
      count_value(text->size());
      result[*text] = std::move(value);
    } else {
      fail(ErrorKind::input, "it holds a dict with a key of type {}; str and int are read",
           type_name(key));
    }
  }
  return result;
}

}  // namespace

std::string_view type_name(const Object& object) {
  constexpr std::array<std::string_view, std::variant_size_v<decltype(Object::any)>> kNames = {
      "None", "bool",  "int",  "float",   "str",     "Tensor",
      "list", "tuple", "dict", "storage", "function"};
  return kNames.at(object.any.index());
}

Dict to_dict(const Object& object, size_t max_bytes) {
  const auto* dict = std::get_if<DictObject>(&object.any);
  if (dict == nullptr) {
    fail(ErrorKind::input, "its value is of type {}, a dict was expected", type_name(object));
  }
  return ValueMaker(max_bytes).to_dict(*dict, 0);
}

}  // namespace plimsoll::train
