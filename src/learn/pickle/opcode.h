// The instructions of a pickle, protocol 2, that torch.save has a use for. A pickle is a program
// for a stack machine; Python's pickletools explains every one of them.
#pragma once

#include <cstdint>

namespace plimsoll::pickle {

constexpr uint8_t kPickleProtocol = 2;

enum class Opcode : uint8_t {
  proto = 0x80,
  stop = '.',
  // Push a value.
  none = 'N',
  new_true = 0x88,
  new_false = 0x89,
  bin_int = 'J',      // 4 bytes, signed
  bin_int1 = 'K',     // 1 byte
  bin_int2 = 'M',     // 2 bytes
  long1 = 0x8a,       // 1 byte of length, then as many, signed
  bin_float = 'G',    // 8 bytes, the highest first
  bin_unicode = 'X',  // 4 bytes of length, then as many of UTF-8
  global = 'c',       // a Python name: two lines, module and name
  // Push a container, or fill the one below the items; "s" takes those above the last mark.
  mark = '(',
  empty_list = ']',
  append = 'a',
  appends = 'e',
  empty_dict = '}',
  set_item = 's',
  set_items = 'u',
  empty_tuple = ')',
  tuple = 't',
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  // Keep the top of the stack under a number, or push what was kept.
  bin_put = 'q',
  long_bin_put = 'r',
  bin_get = 'h',
  long_bin_get = 'j',
  // Replace the top of the stack.
  bin_pers_id = 'Q',  // by what it names outside of the pickle: a storage
  reduce = 'R',       // and what is below it by the result of a call
  build = 'b',        // by nothing, and give it to what is below as attributes
};

}  // namespace plimsoll::pickle
