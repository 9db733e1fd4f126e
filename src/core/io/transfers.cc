#include "io/transfers.h"

#include <atomic>

namespace plimsoll::io {
namespace {

std::atomic<uint64_t> transfers_ended = 0;
std::atomic<unsigned> threads_syncing = 0;

}  // namespace

Transfers transfers_so_far() { return {transfers_ended, threads_syncing}; }
void count_transfer() { transfers_ended.fetch_add(1, std::memory_order_relaxed); }

Syncing::Syncing() { ++threads_syncing; }
Syncing::~Syncing() { --threads_syncing; }

}  // namespace plimsoll::io
