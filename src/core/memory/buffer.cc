#include "memory/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll::memory {
namespace {

constexpr uint64_t kHugePageBytes = 2 * kMiB;

}  // namespace

Pages::Pages(Ledger& ledger, std::string_view tag, uint64_t bytes, PageSource* source)
    : source_(source),
      bytes_((std::min(bytes, kMostBytes) + kPageBytes - 1) / kPageBytes * kPageBytes) {
  if (bytes_ == 0) return;
  if (source_ != nullptr) bytes_ = source_->whole_bytes(bytes_);
  lease_ = ledger.lease(tag, bytes_);
  if (source_ != nullptr) {
    data_ = source_->allocate(bytes_);
    return;
  }
  void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    fail(ErrorKind::memory,
         "the system cannot provide {} for {} ({}); lower --memory or end other programs",
         format_bytes(bytes_), tag, std::strerror(errno));
  }
  data_ = mapped;
  // Arrays as long as the graph are reached at random: with large pages one TLB entry covers 512
  // times as much. Advice only; the mapping never grows by it.
  if (bytes_ >= kHugePageBytes) madvise(data_, bytes_, MADV_HUGEPAGE);
}

Pages::~Pages() {
  if (data_ == nullptr) return;
  if (source_ != nullptr) {
    source_->release(data_, bytes_);
  } else {
    munmap(data_, bytes_);
  }
}

}  // namespace plimsoll::memory
