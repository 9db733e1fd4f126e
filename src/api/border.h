// The border between C and C++: no exception crosses it, and its message is kept for the thread.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "api/plimsoll.h"
#include "base/error.h"

namespace plimsoll::api {

// Keeps the text for plimsoll_last_error() on this thread; does not throw.
void keep_error(std::string_view text) noexcept;
const char* kept_error() noexcept;

// The status of the exception that is being handled; keeps its message.
plimsoll_status handled_exception() noexcept;

// Runs `body`, which returns a plimsoll_status.
template <typename Body>
plimsoll_status guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (...) {
    return handled_exception();
  }
}

// A structure of a caller has at least so many bytes.
template <typename T>
void check_structure(const T* to, size_t least_bytes = sizeof(size_t)) {
  if (to == nullptr) fail(ErrorKind::usage, "a structure is a null pointer");
  if (to->size < least_bytes) {
    fail(ErrorKind::usage,
         "a structure says that it has {} bytes; set its field size to its sizeof", to->size);
  }
}

// A structure of a caller, of this version or an older or newer one. What it does not have is zero.
template <typename T>
T read_structure(const T* from, size_t least_bytes) {
  check_structure(from, least_bytes);
  T copy = {};
  std::memcpy(&copy, from, std::min(from->size, sizeof(T)));
  return copy;
}

// Writes as much of `value` as the caller's structure has room for, and leaves its size as it is.
template <typename T>
void write_structure(const T& value, T* to) {
  check_structure(to);
  const size_t bytes = to->size;
  std::memcpy(to, &value, std::min(bytes, sizeof(T)));
  to->size = bytes;
}

// A handle that a fork has copied is useless: the threads that it needs exist only in the parent.
class Process {
 public:
  Process();
  bool is_this() const noexcept;
  // Throws Error{usage} in a forked child.
  void check() const;

 private:
  int pid_;
};

}  // namespace plimsoll::api
