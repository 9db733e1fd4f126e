#include "train/torch_errors.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <new>
#include <string>

namespace plimsoll::train {

std::optional<Error> as_error(const std::exception_ptr& exception) {
  constexpr const char* kFullGpu =
      "The GPU is full; stop other programs that use it, or use --device cpu";
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::memory,
                 "the system gives this process no more memory; stop other programs, or raise what "
                 "the system allows (ulimit -v)");
  } catch (const c10::OutOfMemoryError& error) {
    return Error(ErrorKind::memory,
                 fmt::format("{}\n{}", error.what_without_backtrace(), kFullGpu));
  } catch (const c10::Error& error) {
    const std::string what = error.what_without_backtrace();
    // cuBLAS reports a GPU that another process has filled in its own way.
    if (what.find("ALLOC_FAILED") != std::string::npos) {
      return Error(ErrorKind::memory, fmt::format("{}\n{}", what, kFullGpu));
    }
    return Error(ErrorKind::internal, what);
  } catch (...) {
    return {};
  }
}

bool is_shortage(const std::exception_ptr& exception) {
  const auto error = as_error(exception);
  return error && error->kind() == ErrorKind::memory;
}

}  // namespace plimsoll::train
