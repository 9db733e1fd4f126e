#include "pickle/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace plimsoll::pickle {
namespace {

constexpr size_t kMaxDimensions = 64;            // as in torch
constexpr int64_t kMaxNumel = int64_t{1} << 58;  // the size in bytes must not overflow

static_assert(sizeof(Object) + 4 * sizeof(void*) <= kInstructionBytes);

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

}  // namespace

// Takes bytes from the front and checks for the end.
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
  // Little-endian.
  template <typename T>
  T take_number() {
    T number;
    std::memcpy(&number, take(sizeof(T)).data(), sizeof(T));
    return number;
  }

 private:
  std::string_view left_;
};

namespace {

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

std::string_view type_name(const Object& object) {
  constexpr std::array<std::string_view, std::variant_size_v<decltype(Object::any)>> kNames = {
      "None", "bool",  "int",  "float",   "str",     "Tensor",
      "list", "tuple", "dict", "storage", "function"};
  return kNames.at(object.any.index());
}

// Runs the instructions; the Pickle owns the objects.
class Parser {
 public:
  Parser(std::string_view bytes, Pickle& pickle) : bytes_(bytes), pickle_(pickle) {}

  const Object* run();

 private:
  void execute(Opcode opcode);
  bool push_scalar(Opcode opcode);
  bool fill_container(Opcode opcode);
  bool make_tuple(Opcode opcode);
  bool use_memo(Opcode opcode);
  void name_storage();
  void call();
  void build();

  template <typename T>
  void push(T any) {
    pickle_.objects_.push_back(Object{std::move(any)});
    stack_.push_back(&pickle_.objects_.back());
  }
  // Stores a description that objects point to.
  template <typename T>
  const T* keep(std::deque<T>& all, T one) {
    pickle_.reserve(sizeof(T));
    all.push_back(std::move(one));
    return &all.back();
  }
  Object& top();
  Object* pop();
  Objects pop_last(size_t count);
  Objects pop_to_mark();

  // Return the object's value; throw Error{input} if it has another type.
  template <typename T>
  static T& expect(Object& object, std::string_view what);
  std::vector<int64_t> expect_numbers(Object& object, std::string_view what);
  TensorObject rebuild_tensor(const Objects& arguments);

  Bytes bytes_;
  Pickle& pickle_;
  Objects stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::unordered_map<uint32_t, Object*> memo_;
};

const Object* Parser::run() {
  if (bytes_.take_number<Opcode>() != Opcode::proto) {
    fail(ErrorKind::input, "its data.pkl is not a pickle");
  }
  const auto protocol = bytes_.take_number<uint8_t>();
  if (protocol != kPickleProtocol) {
    fail(ErrorKind::input, "its pickle has protocol {}; save it with {}, the default of torch.save",
         protocol, kPickleProtocol);
  }
  while (true) {
    pickle_.reserve(kInstructionBytes);
    const auto opcode = bytes_.take_number<Opcode>();
    if (opcode == Opcode::stop) return pop();
    execute(opcode);
  }
}

void Parser::execute(Opcode opcode) {
  if (push_scalar(opcode) || fill_container(opcode) || make_tuple(opcode) || use_memo(opcode)) {
    return;
  }
  switch (opcode) {
    case Opcode::global: {
      const std::string_view module = bytes_.take_line();
      const Global global = known_global({module, bytes_.take_line()});
      return push(keep(pickle_.globals_, global));
    }
    case Opcode::bin_pers_id:
      return name_storage();
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

bool Parser::push_scalar(Opcode opcode) {
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
      push(bytes_.take(bytes_.take_number<uint32_t>()));
      return true;
    default:
      return false;
  }
}

bool Parser::fill_container(Opcode opcode) {
  switch (opcode) {
    case Opcode::mark:
      marks_.push_back(stack_.size());
      return true;
    case Opcode::empty_list:
      push(List());
      return true;
    case Opcode::empty_dict:
      push(Dict());
      return true;
    case Opcode::append:
    case Opcode::appends: {
      const Objects items = opcode == Opcode::append ? pop_last(1) : pop_to_mark();
      auto& list = expect<List>(top(), "a list to append to");
      list.items.insert(list.items.end(), items.begin(), items.end());
      return true;
    }
    case Opcode::set_item:
    case Opcode::set_items: {
      const Objects items = opcode == Opcode::set_item ? pop_last(2) : pop_to_mark();
      if (items.size() % 2 != 0) fail(ErrorKind::input, "its pickle has a key without a value");
      auto& dict = expect<Dict>(top(), "a dict to fill");
      dict.items.insert(dict.items.end(), items.begin(), items.end());
      return true;
    }
    default:
      return false;
  }
}

bool Parser::make_tuple(Opcode opcode) {
  switch (opcode) {
    case Opcode::empty_tuple:
      push(Tuple());
      return true;
    case Opcode::tuple:
      push(Tuple{pop_to_mark()});
      return true;
    case Opcode::tuple1:
      push(Tuple{pop_last(1)});
      return true;
    case Opcode::tuple2:
      push(Tuple{pop_last(2)});
      return true;
    case Opcode::tuple3:
      push(Tuple{pop_last(3)});
      return true;
    default:
      return false;
  }
}

bool Parser::use_memo(Opcode opcode) {
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
      if (found == memo_.end()) fail(ErrorKind::input, "its pickle reads a missing memo entry");
      stack_.push_back(found->second);
      return true;
    }
    default:
      return false;
  }
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

Object& Parser::top() {
  const size_t bottom = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= bottom) fail(ErrorKind::input, "its pickle pops from an empty stack");
  return *stack_.back();
}

Object* Parser::pop() {
  Object* const object = &top();
  stack_.pop_back();
  return object;
}

Objects Parser::pop_last(size_t count) {
  Objects popped(count);
  for (size_t i = count; i-- > 0;) popped[i] = pop();
  return popped;
}

Objects Parser::pop_to_mark() {
  if (marks_.empty()) fail(ErrorKind::input, "a mark is missing in its pickle");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  Objects popped(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return popped;
}

template <typename T>
T& Parser::expect(Object& object, std::string_view what) {
  if (T* const held = std::get_if<T>(&object.any)) return *held;
  fail(ErrorKind::input, "its pickle has {} where {} was expected", type_name(object), what);
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

Pickle::Pickle(std::string_view bytes, memory::Ledger& ledger) : ledger_(ledger) {
  root_ = Parser(bytes, *this).run();
}

void Pickle::reserve(uint64_t bytes) {
  reserved_bytes_ += bytes;
  if (reserved_bytes_ <= lease_.bytes()) return;
  if (reserved_bytes_ > kMostObjectBytes) {
    fail(ErrorKind::input, "its pickle needs more than {} of memory, which is the limit",
         format_bytes(kMostObjectBytes));
  }
  lease_.merge(ledger_.lease("checkpoint values", std::max(bytes, kLeaseStepBytes)));
}

}  // namespace plimsoll::pickle
