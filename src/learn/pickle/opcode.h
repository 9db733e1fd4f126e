// The instructions of a pickle, protocol 2, that torch.save uses. A pickle is a program for a stack
// machine; Python's pickletools explains every instruction.
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
  long1 = 0x8a,       // 1 byte with the length, then a signed number
  bin_float = 'G',    // 8 bytes, big-endian
  bin_unicode = 'X',  // 4 bytes with the length, then UTF-8
  global = 'c',       // a Python name: two lines, module and name
  // Push a container, or add items to the container below them. appends, set_items and tuple take
  // all items above the last mark.
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
  // The memo: store the top of the stack under a number, or push a stored object.
  bin_put = 'q',
  long_bin_put = 'r',
  bin_get = 'h',
  long_bin_get = 'j',
  bin_pers_id = 'Q',  // replace the top of the stack by the storage that it names
  reduce = 'R',       // call: pop arguments and function, push the result
  build = 'b',        // pop attributes and set them on the object below
};

}  // namespace plimsoll::pickle
