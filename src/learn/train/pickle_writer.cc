#include "train/pickle_writer.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "pickle/pickle.h"
#include "train/storage_type.h"

namespace plimsoll::train {
namespace {

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

}  // namespace plimsoll::train
