// The names, storages and calls of a pickle that torch.save writes. All others are refused.
#include "pickle/parser.h"

namespace plimsoll::pickle {
namespace {

constexpr size_t kMaxDimensions = 64;            // as in torch
constexpr int64_t kMaxNumel = int64_t{1} << 58;  // the size in bytes must not overflow

constexpr Global kRebuildTensor = {"torch._utils", "_rebuild_tensor_v2"};
constexpr Global kRebuildParameter = {"torch._utils", "_rebuild_parameter"};
constexpr Global kOrderedDict = {"collections", "OrderedDict"};

bool operator==(const Global& a, const Global& b) {
  return a.module == b.module && a.name == b.name;
}

bool is_storage_type(const Global& global) {
  return global.module == "torch" && global.name.ends_with("Storage");
}

Global known_global(const Global& global) {
  if (global == kRebuildTensor || global == kRebuildParameter || global == kOrderedDict ||
      is_storage_type(global)) {
    return global;
  }
  fail(ErrorKind::input,
       "it refers to {}.{}; only tensors, numbers, text, lists and dicts are read, as in a "
       "state_dict",
       global.module, global.name);
}

// Whether a view with these sizes and strides stays within `count` numbers. The products must not
// overflow, because torch multiplies the sizes without checking.
bool fits_storage(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                  int64_t offset, int64_t count) {
  if (sizes.size() != strides.size() || offset < 0) return false;
  int64_t last = offset;
  int64_t numel = 1;
  bool is_empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || strides[i] < 0) return false;
    is_empty = is_empty || sizes[i] == 0;
    int64_t span = 0;
    if (__builtin_mul_overflow(std::max<int64_t>(sizes[i], 1), numel, &numel) ||
        __builtin_mul_overflow(std::max<int64_t>(sizes[i], 1) - 1, strides[i], &span) ||
        __builtin_add_overflow(last, span, &last)) {
      return false;
    }
  }
  return numel <= kMaxNumel && (is_empty ? offset <= count : last < count);
}

}  // namespace

void Parser::name_global() {
  const std::string_view module = bytes_.take_line();
  const Global global = known_global({module, bytes_.take_line()});
  push(keep(pickle_.globals_, global));
}

// ('storage', type, name, device, numel). The device is ignored: the numbers are read to the CPU.
void Parser::name_storage() {
  const Objects& parts = expect<Tuple>(*pop(), "a storage").items;
  if (parts.size() != 5 || expect<std::string_view>(*parts[0], "a storage") != "storage") {
    fail(ErrorKind::input, "its pickle names an external object that is not a storage");
  }
  const Global& type = *expect<const Global*>(*parts[1], "a storage type");
  if (!is_storage_type(type)) fail(ErrorKind::input, "a storage has no type");
  const Storage storage{.type = type.name,
                        .name = expect<std::string_view>(*parts[2], "a storage's name"),
                        .count = expect<int64_t>(*parts[4], "a storage's size")};
  push(keep(pickle_.storages_, storage));
}

void Parser::call() {
  const Objects& arguments = expect<Tuple>(*pop(), "arguments").items;
  const Global& function = *expect<const Global*>(*pop(), "a function");
  if (function == kRebuildTensor) return push(keep(pickle_.tensors_, rebuild_tensor(arguments)));
  if (function == kRebuildParameter && !arguments.empty()) {
    const TensorObject* const tensor =
        expect<const TensorObject*>(*arguments[0], "a parameter's tensor");
    return push(tensor);
  }
  if (function == kOrderedDict && arguments.empty()) return push(Dict());
  fail(ErrorKind::input, "its pickle calls {}.{} in a way that torch.save does not",
       function.module, function.name);
}

// Discards attributes: Module.state_dict() sets the versions of the modules on its OrderedDict, and
// torch does not need them either.
void Parser::build() {
  pop();
  expect<Dict>(top(), "an OrderedDict with attributes");
}

std::vector<int64_t> Parser::expect_numbers(Object& object, std::string_view what) {
  const Objects& items = expect<Tuple>(object, what).items;
  if (items.size() > kMaxDimensions) {
    fail(ErrorKind::input, "a tensor has {} dimensions, {} is the most", items.size(),
         kMaxDimensions);
  }
  pickle_.reserve(items.size() * sizeof(int64_t));
  std::vector<int64_t> numbers;
  numbers.reserve(items.size());
  for (Object* item : items) numbers.push_back(expect<int64_t>(*item, what));
  return numbers;
}

// (storage, offset, sizes, strides, requires_grad, backward_hooks[, metadata])
TensorObject Parser::rebuild_tensor(const Objects& arguments) {
  if (arguments.size() < 4) fail(ErrorKind::input, "the description of a tensor is incomplete");
  TensorObject tensor{.storage = expect<const Storage*>(*arguments[0], "a tensor's storage"),
                      .offset = expect<int64_t>(*arguments[1], "a tensor's offset"),
                      .sizes = expect_numbers(*arguments[2], "a tensor's sizes"),
                      .strides = expect_numbers(*arguments[3], "a tensor's strides")};
  if (!fits_storage(tensor.sizes, tensor.strides, tensor.offset, tensor.storage->count)) {
    fail(ErrorKind::input, "a tensor reaches beyond its storage of {} numbers",
         tensor.storage->count);
  }
  return tensor;
}

}  // namespace plimsoll::pickle
