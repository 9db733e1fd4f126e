#include "train/shortage.h"

#include <c10/util/Exception.h>

#include "base/error.h"

namespace plimsoll::train {

bool is_shortage(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::OutOfMemoryError&) {
    return true;
  } catch (const Error& refused) {
    return refused.kind() == ErrorKind::memory;
  } catch (...) {
    return false;
  }
}

}  // namespace plimsoll::train
