// Instead of uring_queue.cc, where liburing was not found when the program was built.
#include "io/read_queues.h"

namespace plimsoll::io {

UringAttempt open_uring_queue(memory::Ledger& /*ledger*/, unsigned /*depth*/) {
  return {nullptr, "this program was built without liburing"};
}

}  // namespace plimsoll::io
