// Two steps: the instructions make objects, then the objects become values, each with a copy of
// what it refers to.
#include "train/pickle_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "train/pickle_object.h"
#include "train/pickle_opcode.h"
#include "train/storage_type.h"

namespace plimsoll::train {
namespace {

constexpr size_t kMaxGrowth = 256;  // bytes of values for a byte of pickle; honest ones need 40
constexpr size_t kFreeValueBytes = 1024 * 1024;
constexpr size_t kMaxDimensions = 64;            // as in torch
constexpr int64_t kMaxNumel = int64_t{1} << 58;  // so that the bytes do not overflow

constexpr std::string_view kRebuildTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kRebuildParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kOrderedDict = "collections.OrderedDict";

GlobalObject find_global(std::string_view module, std::string_view name) {
  const std::string full = fmt::format("{}.{}", module, name);
  for (const std::string_view known : {kRebuildTensor, kRebuildParameter, kOrderedDict}) {
    if (full == known) return {known};
  }
  for (const StorageType& storage : kStorageTypes) {
    if (module == "torch" && name == storage.name) return {"", storage.type};
  }
  fail(ErrorKind::input,
       "it refers to {}; only tensors, numbers, text, lists and dicts are read, as in a state_dict",
       full);
}

// Bytes from the front, never beyond the end.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}

  std::string_view take(size_t count) {
    if (count > left_.size()) fail(ErrorKind::input, "its pickle ends too early");
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  std::string_view take_line() {
    const std::string_view line = take(std::min(left_.find('\n'), left_.size()));
    take(1);
    return line;
  }
  // The lowest byte first.
  template <typename T>
  T take_number() {
    T number;
    std::memcpy(&number, take(sizeof(T)).data(), sizeof(T));
    return number;
  }

 private:
  std::string_view left_;
};

int64_t take_long(Bytes& bytes) {
  const std::string_view digits = bytes.take(bytes.take_number<uint8_t>());
  if (digits.size() > sizeof(int64_t)) {
    fail(ErrorKind::input, "it holds an int of {} bytes, 8 is the most", digits.size());
  }
  if (digits.empty()) return 0;
  const bool is_negative = (static_cast<uint8_t>(digits.back()) & 0x80) != 0;
  int64_t number = is_negative ? -1 : 0;
  std::memcpy(&number, digits.data(), digits.size());
  return number;
}

// Whether a view with these sizes and strides stays within `count` numbers. Nothing may overflow:
// torch multiplies the sizes without a look.
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

class PickleReader {
 public:
  PickleReader(std::string_view pickle, const LoadStorage& load_storage)
      : bytes_(pickle), load_storage_(load_storage) {}

  // Lasts as long as the reader.
  const Object* run();

 private:
  void execute(Opcode opcode);
  bool push_scalar(Opcode opcode);
  bool fill_container(Opcode opcode);
  bool make_tuple(Opcode opcode);
  bool use_memo(Opcode opcode);
  void load_storage();
  void call();
  void build();

  template <typename T>
  void push(T any) {
    objects_.push_back(Object{std::move(any)});
    stack_.push_back(&objects_.back());
  }
  Object& top();
  Object* pop();
  Objects pop_last(size_t count);
  Objects pop_to_mark();

  // The meaning of an object where a tensor is described.
  template <typename T>
  static T& expect(Object& object, std::string_view what);
  static std::vector<int64_t> expect_numbers(Object& object, std::string_view what);
  static at::Tensor rebuild_tensor(const Objects& arguments);

  Bytes bytes_;
  const LoadStorage& load_storage_;
  std::deque<Object> objects_;
  Objects stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::unordered_map<uint32_t, Object*> memo_;
};

const Object* PickleReader::run() {
  if (bytes_.take_number<Opcode>() != Opcode::proto) {
    fail(ErrorKind::input, "its data.pkl is not a pickle");
  }
  const auto protocol = bytes_.take_number<uint8_t>();
  if (protocol != kPickleProtocol) {
    fail(ErrorKind::input, "its pickle has protocol {}; save it with {}, the default of torch.save",
         protocol, kPickleProtocol);
  }
  while (true) {
    const auto opcode = bytes_.take_number<Opcode>();
    if (opcode == Opcode::stop) return pop();
    execute(opcode);
  }
}

void PickleReader::execute(Opcode opcode) {
  if (push_scalar(opcode) || fill_container(opcode) || make_tuple(opcode) || use_memo(opcode)) {
    return;
  }
  switch (opcode) {
    case Opcode::global: {
      const std::string_view module = bytes_.take_line();
      return push(find_global(module, bytes_.take_line()));
    }
    case Opcode::bin_pers_id:
      return load_storage();
    case Opcode::reduce:
      return call();
    case Opcode::build:
      return build();
    default:
      fail(ErrorKind::input,
           "its pickle has the instruction {:#04x}, which torch.save never writes",
           static_cast<uint8_t>(opcode));
  }
}

bool PickleReader::push_scalar(Opcode opcode) {
  switch (opcode) {
    case Opcode::none:
      push(std::monostate());
      return true;
    case Opcode::new_true:
    case Opcode::new_false:
      push(opcode == Opcode::new_true);
      return true;
    case Opcode::bin_int:
      push(int64_t{bytes_.take_number<int32_t>()});
      return true;
    case Opcode::bin_int1:
      push(int64_t{bytes_.take_number<uint8_t>()});
      return true;
    case Opcode::bin_int2:
      push(int64_t{bytes_.take_number<uint16_t>()});
      return true;
    case Opcode::long1:
      push(take_long(bytes_));
      return true;
    case Opcode::bin_float:
      push(std::bit_cast<double>(__builtin_bswap64(bytes_.take_number<uint64_t>())));
      return true;
    case Opcode::bin_unicode:
      push(std::string(bytes_.take(bytes_.take_number<uint32_t>())));
      return true;
    default:
      return false;
  }
}

bool PickleReader::fill_container(Opcode opcode) {
  switch (opcode) {
    case Opcode::mark:
      marks_.push_back(stack_.size());
      return true;
    case Opcode::empty_list:
      push(ListObject());
      return true;
    case Opcode::empty_dict:
      push(DictObject());
      return true;
    case Opcode::append:
    case Opcode::appends: {
      const Objects items = opcode == Opcode::append ? pop_last(1) : pop_to_mark();
      auto& list = expect<ListObject>(top(), "a list to append to");
      list.items.insert(list.items.end(), items.begin(), items.end());
      return true;
    }
    case Opcode::set_item:
    case Opcode::set_items: {
      const Objects items = opcode == Opcode::set_item ? pop_last(2) : pop_to_mark();
      if (items.size() % 2 != 0) fail(ErrorKind::input, "its pickle has a key without a value");
      auto& dict = expect<DictObject>(top(), "a dict to fill");
      dict.items.insert(dict.items.end(), items.begin(), items.end());
      return true;
    }
    default:
      return false;
  }
}

bool PickleReader::make_tuple(Opcode opcode) {
  switch (opcode) {
    case Opcode::empty_tuple:
      push(TupleObject());
      return true;
    case Opcode::tuple:
      push(TupleObject{pop_to_mark()});
      return true;
    case Opcode::tuple1:
      push(TupleObject{pop_last(1)});
      return true;
    case Opcode::tuple2:
      push(TupleObject{pop_last(2)});
      return true;
    case Opcode::tuple3:
      push(TupleObject{pop_last(3)});
      return true;
    default:
      return false;
  }
}

bool PickleReader::use_memo(Opcode opcode) {
  switch (opcode) {
    case Opcode::bin_put:
    case Opcode::long_bin_put: {
      const uint32_t number = opcode == Opcode::bin_put ? bytes_.take_number<uint8_t>()
                                                        : bytes_.take_number<uint32_t>();
      memo_[number] = &top();
      return true;
    }
    case Opcode::bin_get:
    case Opcode::long_bin_get: {
      const uint32_t number = opcode == Opcode::bin_get ? bytes_.take_number<uint8_t>()
                                                        : bytes_.take_number<uint32_t>();
      const auto found = memo_.find(number);
      if (found == memo_.end()) fail(ErrorKind::input, "its pickle recalls what it did not keep");
      stack_.push_back(found->second);
      return true;
    }
    default:
      return false;
  }
}

// ('storage', type, name, device, numel): whatever the device was, the numbers come to the CPU.
void PickleReader::load_storage() {
  const Objects parts = expect<TupleObject>(*pop(), "a storage").items;
  if (parts.size() != 5 || expect<std::string>(*parts[0], "a storage") != "storage") {
    fail(ErrorKind::input, "its pickle names something outside that is not a storage");
  }
  const at::ScalarType type = expect<GlobalObject>(*parts[1], "a storage type").type;
  if (type == at::ScalarType::Undefined) fail(ErrorKind::input, "a storage has no type");
  const auto& name = expect<std::string>(*parts[2], "a storage's name");
  push(StorageObject{load_storage_(name, type, expect<int64_t>(*parts[4], "a storage's size"))});
}

void PickleReader::call() {
  const Objects arguments = expect<TupleObject>(*pop(), "arguments").items;
  const std::string_view function = expect<GlobalObject>(*pop(), "a function").name;
  if (function == kRebuildTensor) return push(rebuild_tensor(arguments));
  if (function == kRebuildParameter && !arguments.empty()) {
    return push(at::Tensor(expect<at::Tensor>(*arguments[0], "a parameter's tensor")));
  }
  if (function == kOrderedDict && arguments.empty()) return push(DictObject());
  fail(ErrorKind::input, "its pickle calls {} in a way that torch.save does not",
       function.empty() ? "a storage type" : function);
}

// Attributes: Module.state_dict() hangs the versions of the modules on its OrderedDict. Torch
// itself does without them.
void PickleReader::build() {
  pop();
  expect<DictObject>(top(), "an OrderedDict with attributes");
}

Object& PickleReader::top() {
  const size_t bottom = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= bottom) fail(ErrorKind::input, "its pickle uses values it does not have");
  return *stack_.back();
}

Object* PickleReader::pop() {
  Object* const object = &top();
  stack_.pop_back();
  return object;
}

Objects PickleReader::pop_last(size_t count) {
  Objects popped(count);
  for (size_t i = count; i-- > 0;) popped[i] = pop();
  return popped;
}

Objects PickleReader::pop_to_mark() {
  if (marks_.empty()) fail(ErrorKind::input, "its pickle misses a mark");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  Objects popped(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return popped;
}

template <typename T>
T& PickleReader::expect(Object& object, std::string_view what) {
  if (T* const held = std::get_if<T>(&object.any)) return *held;
  fail(ErrorKind::input, "its pickle has {} where {} was expected", type_name(object), what);
}

std::vector<int64_t> PickleReader::expect_numbers(Object& object, std::string_view what) {
  std::vector<int64_t> numbers;
  for (Object* item : expect<TupleObject>(object, what).items) {
    numbers.push_back(expect<int64_t>(*item, what));
  }
  return numbers;
}

// (storage, offset, sizes, strides, requires_grad, backward_hooks[, metadata])
at::Tensor PickleReader::rebuild_tensor(const Objects& arguments) {
  if (arguments.size() < 4) fail(ErrorKind::input, "a tensor is described by too little");
  const at::Tensor& numbers = expect<StorageObject>(*arguments[0], "a tensor's storage").numbers;
  const int64_t offset = expect<int64_t>(*arguments[1], "a tensor's offset");
  const std::vector<int64_t> sizes = expect_numbers(*arguments[2], "a tensor's sizes");
  const std::vector<int64_t> strides = expect_numbers(*arguments[3], "a tensor's strides");
  if (sizes.size() > kMaxDimensions) {
    fail(ErrorKind::input, "a tensor has {} dimensions, {} is the most", sizes.size(),
         kMaxDimensions);
  }
  if (!fits_storage(sizes, strides, offset, numbers.numel())) {
    fail(ErrorKind::input, "a tensor reaches beyond its storage of {} numbers", numbers.numel());
  }
  return numbers.as_strided(sizes, strides, offset);
}

}  // namespace

Dict read_pickle(std::string_view pickle, const LoadStorage& load_storage) {
  PickleReader reader(pickle, load_storage);
  return to_dict(*reader.run(), kFreeValueBytes + kMaxGrowth * pickle.size());
}

}  // namespace plimsoll::train
