#include "train/pickled_values.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/print.h"
#include "pickle/pickle.h"

namespace plimsoll::train {
namespace {

// The names of number types in files of torch.save.
struct StorageType {
  std::string_view name;  // in the Python module torch
  at::ScalarType type;
};

constexpr std::array<StorageType, 12> kStorageTypes = {{
    {"FloatStorage", at::ScalarType::Float},
    {"DoubleStorage", at::ScalarType::Double},
    {"HalfStorage", at::ScalarType::Half},
    {"BFloat16Storage", at::ScalarType::BFloat16},
    {"LongStorage", at::ScalarType::Long},
    {"IntStorage", at::ScalarType::Int},
    {"ShortStorage", at::ScalarType::Short},
    {"CharStorage", at::ScalarType::Char},
    {"ByteStorage", at::ScalarType::Byte},
    {"BoolStorage", at::ScalarType::Bool},
    {"ComplexFloatStorage", at::ScalarType::ComplexFloat},
    {"ComplexDoubleStorage", at::ScalarType::ComplexDouble},
}};

// ---- writing ----

using pickle::kPickleProtocol;
using pickle::Opcode;

std::string_view storage_name(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided || tensor.is_quantized() ||
      tensor.is_meta()) {
    fail(ErrorKind::internal, "a checkpoint was given a tensor without plain numbers");
  }
  const auto* const found =
      std::find_if(kStorageTypes.begin(), kStorageTypes.end(),
                   [&](const StorageType& entry) { return entry.type == tensor.scalar_type(); });
  if (found == kStorageTypes.end()) {
    fail(ErrorKind::internal, "a checkpoint was given a tensor of the type {}",
         at::toString(tensor.scalar_type()));
  }
  return found->name;
}

constexpr size_t kPieceBytes = 64 * 1024;

class PickleWriter {
 public:
  explicit PickleWriter(const TakeBytes& take) : take_(take) {}

  std::vector<at::Tensor> write(const PyDict& dict) {
    put(Opcode::proto);
    put_number(kPickleProtocol, 1);
    put(dict);
    put(Opcode::stop);
    take_(bytes_);
    return std::move(storages_);
  }

 private:
  void put(Opcode opcode) { bytes_.push_back(static_cast<char>(opcode)); }
  // The lowest byte first.
  void put_number(uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_.push_back(static_cast<char>(number >> (8 * i)));
  }

  void put(std::monostate /*none*/) { put(Opcode::none); }
  void put(bool value) { put(value ? Opcode::new_true : Opcode::new_false); }
  void put(int64_t value);
  void put(double value);
  void put(const std::string& text);
  void put(const at::Tensor& tensor);
  [[noreturn]] static void put(const std::shared_ptr<const StoredTensor>& /*tensor*/) {
    fail(ErrorKind::internal, "a checkpoint was given a tensor that is still in another");
  }
  void put(const PyList& list);
  void put(const PyDict& dict);
  void put(const PyRows& rows);
  void put(const PyValue& value) {
    if (bytes_.size() >= kPieceBytes) {
      take_(bytes_);
      bytes_.clear();
    }
    std::visit([this](const auto& held) { this->put(held); }, value.any());
  }

  void put_global(std::string_view module, std::string_view name);
  void put_tuple(const std::vector<int64_t>& numbers);
  void put_empty_ordered_dict();

  const TakeBytes& take_;
  std::string bytes_;  // not handed over yet
  std::vector<at::Tensor> storages_;
};

void PickleWriter::put(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  if (value >= 0 && value <= std::numeric_limits<uint8_t>::max()) {
    put(Opcode::bin_int1);
    put_number(bits, 1);
  } else if (value >= 0 && value <= std::numeric_limits<uint16_t>::max()) {
    put(Opcode::bin_int2);
    put_number(bits, 2);
  } else if (value == static_cast<int32_t>(value)) {
    put(Opcode::bin_int);
    put_number(bits, 4);
  } else {
    // The fewest bytes that keep the sign, as Python writes it.
    const auto magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
    const int bytes = static_cast<int>(std::bit_width(magnitude)) / 8 + 1;
    put(Opcode::long1);
    put_number(static_cast<uint64_t>(bytes), 1);
    put_number(bits, bytes);
  }
}

void PickleWriter::put(double value) {
  put(Opcode::bin_float);
  put_number(__builtin_bswap64(std::bit_cast<uint64_t>(value)), 8);
}

void PickleWriter::put(const std::string& text) {
  if (valid_utf8(text) != text) {
    fail(ErrorKind::input, "the text '{}' is not UTF-8 and cannot go into a checkpoint", text);
  }
  if (text.size() > std::numeric_limits<uint32_t>::max()) {
    fail(ErrorKind::internal, "a text of {} bytes is too long for a checkpoint", text.size());
  }
  put(Opcode::bin_unicode);
  put_number(text.size(), 4);
  bytes_ += text;
}

void PickleWriter::put(const PyList& list) {
  put(Opcode::empty_list);
  put(Opcode::mark);
  for (const PyValue& item : list) put(item);
  put(Opcode::appends);
}

void PickleWriter::put(const PyRows& rows) {
  put(Opcode::empty_list);
  put(Opcode::mark);
  for (size_t i = 0; i < rows.count; ++i) put(rows.row(i));
  put(Opcode::appends);
}

void PickleWriter::put(const PyDict& dict) {
  put(Opcode::empty_dict);
  put(Opcode::mark);
  for (const auto& [key, value] : dict) {
    std::visit([this](const auto& held) { this->put(held); }, key);
    put(value);
  }
  put(Opcode::set_items);
}

void PickleWriter::put_global(std::string_view module, std::string_view name) {
  put(Opcode::global);
  bytes_.append(module).append("\n").append(name).append("\n");
}

void PickleWriter::put_tuple(const std::vector<int64_t>& numbers) {
  put(Opcode::mark);
  for (const int64_t number : numbers) put(number);
  put(Opcode::tuple);
}

void PickleWriter::put_empty_ordered_dict() {
  put_global("collections", "OrderedDict");
  put(Opcode::empty_tuple);
  put(Opcode::reduce);
}

// _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, backward_hooks), where the
// storage is ('storage', type, name, device, numel).
void PickleWriter::put(const at::Tensor& tensor) {
  const std::vector<int64_t> sizes = tensor.sizes().vec();
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  const std::string_view type = storage_name(tensor);
  put_global("torch._utils", "_rebuild_tensor_v2");
  put(Opcode::mark);
  put(Opcode::mark);
  put(std::string("storage"));
  put_global("torch", type);
  put(fmt::format("{}", storages_.size()));
  put(std::string("cpu"));
  put(tensor.numel());
  put(Opcode::tuple);
  put(Opcode::bin_pers_id);
  put(int64_t{0});
  put_tuple(sizes);
  put_tuple(strides);
  put(false);
  put_empty_ordered_dict();
  put(Opcode::tuple);
  put(Opcode::reduce);
  storages_.push_back(tensor);
}

}  // namespace

std::vector<at::Tensor> write_pickle(const PyDict& dict, const TakeBytes& take) {
  return PickleWriter(take).write(dict);
}

namespace {

// ---- reading ----

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
