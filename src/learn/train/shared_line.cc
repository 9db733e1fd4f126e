#include "train/shared_line.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <thread>

#include "base/error.h"

namespace plimsoll::train {
namespace {

using std::chrono::milliseconds;

constexpr auto kAgreeTime = std::chrono::seconds(2);
constexpr auto kLookAgain = milliseconds(2);

}  // namespace

// In memory that all ranks of the host map.
struct SharedLine::Page {
  std::atomic<uint64_t> goal;
  // By place: up to here the rank may use the memory. The first rank's is not used.
  std::atomic<uint64_t> used[1];  // NOLINT(modernize-avoid-c-arrays): as many as there are ranks
};

SharedLine::SharedLine(io::LinedFile& file, size_t host_ranks)
    : file_(file),
      host_ranks_(host_ranks),
      place_(0),
      fd_(::memfd_create("plimsoll", MFD_CLOEXEC)),
      held_bytes_(file.line_bytes()) {
  const uint64_t bytes = sizeof(Page) + host_ranks * sizeof(std::atomic<uint64_t>);
  if (!fd_ || ::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) {
    fail(ErrorKind::io, "the system cannot provide memory that ranks share: {}",
         std::strerror(errno));
  }
  map(host_ranks, fd_.get());
  page_->goal = held_bytes_;
  for (size_t i = 1; i < host_ranks; ++i) page_->used[i] = held_bytes_;
}

SharedLine::SharedLine(io::LinedFile& file, const Fd& page, size_t host_ranks, size_t place)
    : file_(file), host_ranks_(host_ranks), place_(place) {
  map(host_ranks, page.get());
}

SharedLine::~SharedLine() { ::munmap(page_, page_bytes_); }

void SharedLine::map(size_t host_ranks, int fd) {
  page_bytes_ = sizeof(Page) + host_ranks * sizeof(std::atomic<uint64_t>);
  void* const mapped = ::mmap(nullptr, page_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) {
    fail(ErrorKind::memory, "cannot map memory that ranks share: {}", std::strerror(errno));
  }
  page_ = static_cast<Page*>(mapped);
}

uint64_t SharedLine::goal_bytes() const { return page_->goal; }

void SharedLine::lower_to(uint64_t line_bytes) {
  file_.move_shared_line(std::min(line_bytes, file_.line_bytes()));
  page_->goal = file_.line_bytes();
  const auto deadline = std::chrono::steady_clock::now() + kAgreeTime;
  while (!release() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kLookAgain);
  }
}

void SharedLine::raise_to(uint64_t line_bytes) {
  release();
  file_.raise(line_bytes, 1, [](std::span<const std::byte>) {});
  held_bytes_ = std::max(held_bytes_, file_.line_bytes());
  page_->goal = file_.line_bytes();
}

// False if a rank still uses memory above the line.
bool SharedLine::release() {
  const uint64_t line = file_.line_bytes();
  if (held_bytes_ <= line) return true;
  for (size_t i = 1; i < host_ranks_; ++i) {
    if (page_->used[i] > line) return false;
  }
  file_.release_above_line();
  held_bytes_ = line;
  return true;
}

// Upwards it first says what it is going to use, and then looks at the goal once more. So either
// the first rank sees that, or this one sees that the goal has gone down meanwhile.
void SharedLine::follow() {
  const uint64_t goal = page_->goal;
  std::atomic<uint64_t>& used = page_->used[place_];
  if (goal > file_.line_bytes()) {
    used = goal;
    if (page_->goal < goal) {
      used = file_.line_bytes();
      return;
    }
  }
  file_.move_shared_line(goal);
  used = file_.line_bytes();
}

}  // namespace plimsoll::train
