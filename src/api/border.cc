#include "api/border.h"

#include <unistd.h>

#include <new>

namespace plimsoll::api {
namespace {

thread_local std::string t_error;
thread_local bool t_no_memory = false;  // not even for the message

}  // namespace

void keep_error(std::string_view text) noexcept {
  try {
    t_error = text;
    t_no_memory = false;
  } catch (...) {
    t_no_memory = true;
  }
}

const char* kept_error() noexcept {
  return t_no_memory ? "the process is out of memory" : t_error.c_str();
}

plimsoll_status handled_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    keep_error(error.what());
    return static_cast<plimsoll_status>(exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    keep_error("the process is out of memory; raise its limit, or lower the memory of the loader");
    return PLIMSOLL_MEMORY;
  } catch (const std::exception& error) {
    keep_error(error.what());
    return PLIMSOLL_INTERNAL;
  } catch (...) {
    keep_error("an unknown exception");
    return PLIMSOLL_INTERNAL;
  }
}

Process::Process() : pid_(getpid()) {}

bool Process::is_this() const noexcept { return getpid() == pid_; }

void Process::check() const {
  if (is_this()) return;
  fail(ErrorKind::usage,
       "process {} opened this, and process {} is its forked child; open the store again here, "
       "or start processes by spawn",
       pid_, getpid());
}

}  // namespace plimsoll::api
