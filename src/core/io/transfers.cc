#include "io/transfers.h"

#include <atomic>

namespace plimsoll::io {
namespace {

std::atomic<uint64_t> transfers_ended = 0;
std::atomic<unsigned> threads_syncing = 0;
thread_local unsigned uncounted = 0;

}  // namespace

Transfers transfers_so_far() { return {transfers_ended, threads_syncing}; }
void count_transfer() {
  if (uncounted == 0) transfers_ended.fetch_add(1, std::memory_order_relaxed);
}

Uncounted::Uncounted() { ++uncounted; }
Uncounted::~Uncounted() { --uncounted; }

Syncing::Syncing() : counted_(uncounted == 0) {
  if (counted_) ++threads_syncing;
}
Syncing::~Syncing() {
  if (counted_) --threads_syncing;
}

}  // namespace plimsoll::io
