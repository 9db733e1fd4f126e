#include "train/pickle_reader.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "train/storage_type.h"

namespace plimsoll::train {
namespace {

constexpr int kMaxDepth = 100;        // of nested lists and dicts
constexpr uint64_t kMaxGrowth = 256;  // bytes of values per byte of pickle; a normal one needs 80
constexpr uint64_t kFreeValueBytes = kMiB;

at::ScalarType type_of(const pickle::Storage& storage) {
  for (const StorageType& known : kStorageTypes) {
    if (storage.type == known.name) return known.type;
  }
  fail(ErrorKind::input, "it refers to torch.{}, a type of numbers that is not read", storage.type);
}

class ValueMaker {
 public:
  ValueMaker(uint64_t max_bytes, memory::Ledger& ledger, memory::Lease& lease)
      : max_bytes_(max_bytes), ledger_(ledger), lease_(lease) {}

  PyDict to_dict(const pickle::Dict& dict, int depth);
  // Hands the rows of this list over when it comes to it; only once, because many may refer to it.
  void stream(const pickle::List* list, const StreamedList& streamed) {
    list_ = list;
    streamed_ = &streamed;
  }

 private:
  PyValue to_value(const pickle::Object& object, int depth);
  PyList to_list(const pickle::Objects& items, int depth);
  PyValue to_tensor(const pickle::TensorObject& tensor);
  void hand_over(const pickle::Objects& rows, int depth);
  void reserve(uint64_t bytes);

  const uint64_t max_bytes_;
  memory::Ledger& ledger_;
  memory::Lease& lease_;
  uint64_t bytes_ = 0;
  const pickle::List* list_ = nullptr;
  const StreamedList* streamed_ = nullptr;
};

void ValueMaker::reserve(uint64_t bytes) {
  bytes_ += bytes;
  if (bytes_ > max_bytes_) {
    fail(ErrorKind::input, "its pickle repeats values too often: they take more than {}",
         format_bytes(max_bytes_));
  }
  if (bytes_ > lease_.bytes()) {
    lease_.merge(ledger_.lease("checkpoint values", std::max(bytes, pickle::kLeaseStepBytes)));
  }
}

PyValue ValueMaker::to_value(const pickle::Object& object, int depth) {
  if (depth > kMaxDepth) {
    fail(ErrorKind::input, "it nests lists and dicts more than {} deep", kMaxDepth);
  }
  return std::visit(
      [&](const auto& held) -> PyValue {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<T, pickle::List>) {
          if (&held != list_) return to_list(held.items, depth + 1);
          list_ = nullptr;
          hand_over(held.items, depth + 1);
          return PyList();
        } else if constexpr (std::is_same_v<T, pickle::Tuple>) {
          return to_list(held.items, depth + 1);
        } else if constexpr (std::is_same_v<T, pickle::Dict>) {
          return to_dict(held, depth + 1);
        } else if constexpr (std::is_same_v<T, const pickle::TensorObject*>) {
          return to_tensor(*held);
        } else if constexpr (std::is_same_v<T, std::string_view>) {
          reserve(held.size());
          return held;
        } else if constexpr (std::is_arithmetic_v<T>) {
          return held;
        } else {
          fail(ErrorKind::input, "it holds a {}, not a plain value", pickle::type_name(object));
        }
      },
      object.any);
}

PyValue ValueMaker::to_tensor(const pickle::TensorObject& tensor) {
  const uint64_t dimensions = tensor.sizes.size();
  reserve(sizeof(StoredTensor) + tensor.storage->name.size() + 2 * dimensions * sizeof(int64_t));
  return std::make_shared<const StoredTensor>(
      StoredTensor{.storage = std::string(tensor.storage->name),
                   .type = type_of(*tensor.storage),
                   .count = tensor.storage->count,
                   .offset = tensor.offset,
                   .sizes = tensor.sizes,
                   .strides = tensor.strides});
}

void ValueMaker::hand_over(const pickle::Objects& rows, int depth) {
  reserve(rows.size() * streamed_->row_bytes);
  const uint64_t kept = bytes_;
  for (const pickle::Object* row : rows) {
    const auto* dict = std::get_if<pickle::Dict>(&row->any);
    if (dict == nullptr) {
      fail(ErrorKind::input, "the list '{}' holds a {}, a dict was expected",
           streamed_->keys.back(), pickle::type_name(*row));
    }
    streamed_->take(to_dict(*dict, depth), rows.size());
    bytes_ = kept;
  }
}

PyList ValueMaker::to_list(const pickle::Objects& items, int depth) {
  reserve(items.size() * sizeof(PyValue));
  PyList list;
  list.reserve(items.size());
  for (const pickle::Object* item : items) list.push_back(to_value(*item, depth));
  return list;
}

PyDict ValueMaker::to_dict(const pickle::Dict& dict, int depth) {
  constexpr uint64_t kIndexBytes = sizeof(Key) + 5 * sizeof(void*);
  PyDict result;
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const pickle::Object& key = *dict.items[i];
    reserve(2 * sizeof(PyDict::Entry) + kIndexBytes);  // in an array that doubles
    PyValue value = to_value(*dict.items[i + 1], depth);
    if (const auto* number = std::get_if<int64_t>(&key.any)) {
      result[*number] = std::move(value);
    } else if (const auto* text = std::get_if<std::string_view>(&key.any)) {
      reserve(2 * text->size());
      result[std::string(*text)] = std::move(value);
    } else {
      fail(ErrorKind::input, "it holds a dict with a key of type {}; str and int are read",
           pickle::type_name(key));
    }
  }
  return result;
}

// The list at the end of these keys; null if there is none.
const pickle::List* find_list(const pickle::Dict& dict, std::span<const std::string> keys) {
  const pickle::Object* found = nullptr;
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const auto* key = std::get_if<std::string_view>(&dict.items[i]->any);
    if (key != nullptr && *key == keys.front()) found = dict.items[i + 1];
  }
  if (found == nullptr) return nullptr;
  if (keys.size() == 1) return std::get_if<pickle::List>(&found->any);
  const auto* inner = std::get_if<pickle::Dict>(&found->any);
  return inner == nullptr ? nullptr : find_list(*inner, keys.subspan(1));
}

}  // namespace

PyDict values_of(const pickle::Pickle& pickle, uint64_t pickle_bytes, memory::Ledger& ledger,
                 memory::Lease& lease, const StreamedList* streamed) {
  const auto* dict = std::get_if<pickle::Dict>(&pickle.root().any);
  if (dict == nullptr) {
    fail(ErrorKind::input, "its value is of type {}, a dict was expected",
         pickle::type_name(pickle.root()));
  }
  const uint64_t max_bytes = std::min(kMostValueBytes, kFreeValueBytes + kMaxGrowth * pickle_bytes);
  ValueMaker maker(max_bytes, ledger, lease);
  if (streamed != nullptr) maker.stream(find_list(*dict, streamed->keys), *streamed);
  return maker.to_dict(*dict, 0);
}

}  // namespace plimsoll::train
