#include "train/shared_line.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
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

SharedLine::SharedLine(io::LinedFile& file, size_t host_ranks)
    : file_(file),
      host_ranks_(host_ranks),
      place_(0),
      fd_(::memfd_create("plimsoll", MFD_CLOEXEC)),
      held_bytes_(file.line_bytes()) {
  if (!fd_ || ::ftruncate(fd_.get(), static_cast<off_t>(page_bytes())) != 0) {
    fail(ErrorKind::io, "the system cannot provide memory that ranks share: {}",
         std::strerror(errno));
  }
  map(fd_.get());
  for (size_t i = 0; i < host_ranks; ++i) page_[i] = held_bytes_;
}

SharedLine::SharedLine(io::LinedFile& file, const Fd& page, size_t host_ranks, size_t place)
    : file_(file), host_ranks_(host_ranks), place_(place) {
  map(page.get());
}

SharedLine::~SharedLine() { ::munmap(page_, page_bytes()); }

uint64_t SharedLine::page_bytes() const { return host_ranks_ * sizeof(*page_); }

void SharedLine::map(int fd) {
  void* const mapped = ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) {
    fail(ErrorKind::memory, "cannot map memory that ranks share: {}", std::strerror(errno));
  }
  page_ = static_cast<std::atomic<uint64_t>*>(mapped);
}

uint64_t SharedLine::goal_bytes() const { return page_[0]; }

void SharedLine::lower_to(uint64_t line_bytes) {
  file_.move_shared_line(std::min(line_bytes, file_.line_bytes()));
  page_[0] = file_.line_bytes();
  const auto deadline = std::chrono::steady_clock::now() + kAgreeTime;
  while (!release() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kLookAgain);
  }
}

void SharedLine::raise_to(uint64_t line_bytes) {
  release();
  file_.raise(line_bytes, 1, [](std::span<const std::byte>) {});
  held_bytes_ = std::max(held_bytes_, file_.line_bytes());
  page_[0] = file_.line_bytes();
}

// False if a rank still uses memory above the line.
bool SharedLine::release() {
  const uint64_t line = file_.line_bytes();
  if (held_bytes_ <= line) return true;
  for (size_t i = 1; i < host_ranks_; ++i) {
    if (page_[i] > line) return false;
  }
  file_.release_above_line();
  held_bytes_ = line;
  return true;
}

// Upwards it first says what it is going to use, and then looks at the goal once more. So either
// the first rank sees that, or this one sees that the goal has gone down meanwhile.
void SharedLine::follow() {
  const uint64_t goal = page_[0];
  std::atomic<uint64_t>& used = page_[place_];
  if (goal > file_.line_bytes()) {
    used = goal;
    if (page_[0] < goal) {
      used = file_.line_bytes();
      return;
    }
  }
  file_.move_shared_line(goal);
  used = file_.line_bytes();
}

}  // namespace plimsoll::train
