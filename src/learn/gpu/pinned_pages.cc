#include "gpu/pinned_pages.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll::gpu {
namespace {

constexpr uint64_t kHugePageBytes = 2 * kMiB;
constexpr std::chrono::microseconds kLook{50};

}  // namespace

// Makes the context the current one of this thread for a while.
class PinnedPages::InContext {
 public:
  explicit InContext(const PinnedPages& pages)
      : driver_(pages.driver_), result_(driver_.push_context(pages.context_)) {}
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  ~InContext() {
    cuda::Context before = nullptr;
    if (result_ == 0) driver_.pop_context(&before);
  }
  int result() const { return result_; }

 private:
  const cuda::DriverFunctions& driver_;
  const int result_;
};

PinnedPages::PinnedPages(int ordinal, const cuda::Opened<cuda::DriverFunctions>& driver)
    : driver_(driver.functions), problem_(driver.missing) {
  if (!problem_.empty()) return;
  int result = driver_.init(0);
  if (result == 0) result = driver_.device_get(&device_, ordinal);
  if (result == 0) result = driver_.retain_context(&context_, device_);
  if (result == 0) return;
  context_ = nullptr;
  refuse(fmt::format("use GPU {}", ordinal), result);
}

PinnedPages::~PinnedPages() {
  if (context_ != nullptr) driver_.release_context(device_);
}

void PinnedPages::refuse(std::string_view doing, int result) {
  const std::lock_guard lock(mutex_);
  if (!problem_.empty()) return;
  problem_ =
      fmt::format("NVIDIA's driver cannot {}: {}", doing, cuda::error_message(driver_, result));
}

void* PinnedPages::allocate(uint64_t bytes) {
  void* const data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    fail(ErrorKind::memory,
         "the system cannot provide {} ({}); lower the memory limit or end other programs",
         format_bytes(bytes), std::strerror(errno));
  }
  if (bytes >= kHugePageBytes) madvise(data, bytes, MADV_HUGEPAGE);
  if (context_ == nullptr) return data;
  int result = 0;
  {
    const InContext current(*this);
    result = current.result();
    if (result == 0) result = driver_.register_host(data, bytes, cuda::kHostRegisterPortable);
  }
  if (result != 0) {
    refuse(fmt::format("pin {}", format_bytes(bytes)), result);
    return data;
  }
  // After a fork, a page that both processes have would be copied when this one writes to it, and
  // the GPU would go on reading the old page.
  madvise(data, bytes, MADV_DONTFORK);
  const std::lock_guard lock(mutex_);
  pinned_.insert(data);
  pinned_bytes_ += bytes;
  return data;
}

void PinnedPages::release(void* data, uint64_t bytes) noexcept {
  bool pinned = false;
  {
    const std::lock_guard lock(mutex_);
    pinned = pinned_.erase(data) > 0;
    if (pinned) pinned_bytes_ -= bytes;
  }
  if (pinned) {
    const InContext current(*this);
    if (current.result() == 0) driver_.unregister_host(data);
  }
  munmap(data, bytes);
}

std::string PinnedPages::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

uint64_t PinnedPages::pinned_bytes() const {
  const std::lock_guard lock(mutex_);
  return pinned_bytes_;
}

// If nothing is pinned, a copy has already read all of its memory when the call returns.
PinnedPages::CopyMark::CopyMark(PinnedPages& pages)
    : pages_(pages), passed_(pages.pinned_bytes() == 0) {
  const cuda::DriverFunctions& driver = pages_.driver_;
  if (passed_ || driver.record_context == nullptr) return;
  const InContext current(pages_);
  if (current.result() != 0 || driver.create_event(&event_, cuda::kEventWithoutTimes) != 0) {
    event_ = nullptr;
    return;
  }
  if (driver.record_context(pages_.context_, event_) == 0) return;
  driver.destroy_event(event_);
  event_ = nullptr;
}

PinnedPages::CopyMark::~CopyMark() {
  if (event_ == nullptr) return;
  const InContext current(pages_);
  if (current.result() == 0) pages_.driver_.destroy_event(event_);
}

// Any other answer than `not ready` means that there is nothing to wait for: the copies are done,
// the GPU has failed, as its next use will report, or the process ends.
bool PinnedPages::CopyMark::passed() noexcept {
  if (passed_) return true;
  const InContext current(pages_);
  if (current.result() != 0 || event_ == nullptr) {
    if (current.result() == 0) pages_.driver_.wait_context();
    passed_ = true;
  } else {
    passed_ = pages_.driver_.query_event(event_) != cuda::kNotReady;
  }
  return passed_;
}

void PinnedPages::CopyMark::wait() noexcept {
  while (!passed()) std::this_thread::sleep_for(kLook);
}

}  // namespace plimsoll::gpu
