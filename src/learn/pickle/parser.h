// Runs the instructions of a pickle (pickle/pickle.h): a stack machine (parser.cc), and the few
// functions that it may call (parser_calls.cc).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "pickle/pickle.h"

namespace plimsoll::pickle {

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

// For one pickle, which owns the objects.
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
  void name_global();
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

template <typename T>
T& Parser::expect(Object& object, std::string_view what) {
  if (T* const held = std::get_if<T>(&object.any)) return *held;
  fail(ErrorKind::input, "its pickle has {} where {} was expected", type_name(object), what);
}

}  // namespace plimsoll::pickle
