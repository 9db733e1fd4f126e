#include "pickle/parser.h"

#include <bit>

namespace plimsoll::pickle {
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

}  // namespace

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
    case Opcode::global:
      return name_global();
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

}  // namespace plimsoll::pickle
