#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace plimsoll {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::internal:
      return 1;
    case ErrorKind::usage:
      return 2;
    case ErrorKind::input:
      return 3;
    case ErrorKind::memory:
      return 4;
    case ErrorKind::disk:
      return 5;
    case ErrorKind::io:
      return 6;
    case ErrorKind::exists:
      return 7;
    case ErrorKind::store:
      return 8;
    case ErrorKind::stopped:
      return 9;
    case ErrorKind::diverged:
      return 10;
    case ErrorKind::lost:
      return 13;
    case ErrorKind::refused:
      return 125;
  }
  return 1;
}

std::string_view name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::internal:
      return "internal";
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::input:
      return "input";
    case ErrorKind::memory:
      return "memory";
    case ErrorKind::disk:
      return "disk";
    case ErrorKind::io:
      return "io";
    case ErrorKind::exists:
      return "exists";
    case ErrorKind::store:
      return "store";
    case ErrorKind::stopped:
      return "stopped";
    case ErrorKind::diverged:
      return "diverged";
    case ErrorKind::lost:
      return "lost";
    case ErrorKind::refused:
      return "refused";
  }
  return "internal";
}

void fail_errno(std::string_view what, std::string_view path, int error_number) {
  if (error_number == ENOSPC || error_number == EDQUOT) {
    fail(ErrorKind::disk, "cannot {} {}: {}; free some space, or write to another disk", what, path,
         std::strerror(error_number));
  }
  if (error_number == EACCES || error_number == EPERM || error_number == EROFS) {
    fail(ErrorKind::io, "cannot {} {}: {}; check its owner and permissions", what, path,
         std::strerror(error_number));
  }
  fail(ErrorKind::io, "cannot {} {}: {}", what, path, std::strerror(error_number));
}

}  // namespace plimsoll
