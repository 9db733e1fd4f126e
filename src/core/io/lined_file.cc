#include "io/lined_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "io/file.h"

namespace plimsoll::io {
namespace {

constexpr uint64_t kRaiseBytes =
    32 * kLineStepBytes;  // then it looks whether the line must go down

uint64_t round_up(uint64_t bytes, uint64_t step) { return (bytes + step - 1) / step * step; }

// Address space that begins at a step, so that no large page lies across a line; null where the
// system gives none.
std::byte* reserve(uint64_t bytes) {
  const uint64_t more = bytes + kLineStepBytes;
  void* mapped = mmap(nullptr, more, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(mapped);
  const auto address = reinterpret_cast<uintptr_t>(mapped);
  const uint64_t before = -address % kLineStepBytes;
  if (before > 0) munmap(first, before);
  munmap(first + before + bytes, kLineStepBytes - before);
  return first + before;
}

}  // namespace

LinedFile::LinedFile(memory::Ledger& ledger, std::string_view tag,
                     const std::filesystem::path& path, const Shape& shape)
    : ledger_(&ledger),
      tag_(tag),
      shape_(shape),
      file_(std::make_unique<RowFile>(open_rows(path))),
      path_(path),
      reserved_bytes_(round_up(shape.bytes, kLineStepBytes) +
                      shape.areas * round_up(shape.area_bytes, memory::kPageBytes) +
                      shape.windows * round_up(shape.window_bytes, kLineStepBytes)),
      taken_areas_(shape.areas + shape.windows) {
  if (file_->size_bytes < shape.bytes) {
    fail(ErrorKind::store, "{} has {} bytes, {} expected; import the graph again", path.string(),
         file_->size_bytes, shape.bytes);
  }
  if (reserved_bytes_ == 0) return;
  reserved_ = reserve(reserved_bytes_);
  if (reserved_ == nullptr) {
    fail(ErrorKind::memory,
         "the system cannot provide {} of address space for {} ({}); see ulimit -v and "
         "vm.overcommit_memory",
         format_bytes(reserved_bytes_), path.string(), std::strerror(errno));
  }
  // No large pages for the last step and the areas, which may need less than one.
  madvise(reserved_, shape.bytes / kLineStepBytes * kLineStepBytes, MADV_HUGEPAGE);
}

LinedFile::LinedFile(memory::Pages pages, uint64_t bytes)
    : shape_{.bytes = bytes},
      own_pages_(std::move(pages)),
      resident_(static_cast<const std::byte*>(own_pages_.data())),
      line_bytes_(bytes) {}

LinedFile::LinedFile(std::span<const std::byte> resident)
    : shape_{.bytes = resident.size()}, resident_(resident.data()), line_bytes_(resident.size()) {}

LinedFile::~LinedFile() {
  if (reserved_ != nullptr) munmap(reserved_, reserved_bytes_);
}

const std::byte* LinedFile::data() const { return reserved_ != nullptr ? reserved_ : resident_; }

uint64_t LinedFile::line_bytes() const {
  const std::lock_guard lock(mutex_);
  return line_bytes_;
}

void LinedFile::check_unchanged() const {
  if (file_ == nullptr || resident() || !changed(*file_)) return;
  fail(ErrorKind::store,
       "{} was changed while it was being read; what was read since cannot be trusted. Import the "
       "graph again, or bring the file back",
       path_.string());
}

LinedFile::Use::Use(const LinedFile& file)
    : data(file.data()),
      line_bytes([&] {
        std::unique_lock lock(file.mutex_);
        file.changed_.wait(lock, [&] { return !file.lowering_; });
        ++file.users_;
        return file.line_bytes_;
      }()),
      file_(file) {}

LinedFile::Use::~Use() {
  const std::lock_guard lock(file_.mutex_);
  if (--file_.users_ == 0) file_.changed_.notify_all();
}

// The nearest possible line at or below this one.
uint64_t LinedFile::goal_of(uint64_t line_bytes) const {
  return line_bytes >= shape_.bytes ? shape_.bytes : line_bytes / kLineStepBytes * kLineStepBytes;
}

void LinedFile::map_shared(int memory, uint64_t bytes, int protection) {
  void* const mapped =
      mmap(reserved_, bytes, protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory, 0);
  if (mapped == MAP_FAILED) {
    fail(ErrorKind::memory, "cannot map {} of {} for several processes: {}", format_bytes(bytes),
         path_.string(), std::strerror(errno));
  }
  madvise(reserved_, bytes / kLineStepBytes * kLineStepBytes, MADV_HUGEPAGE);
  shared_bytes_ = bytes;
}

void LinedFile::share(uint64_t line_bytes) {
  const uint64_t bytes = round_up(goal_of(line_bytes), memory::kPageBytes);
  if (bytes == 0) return;
  shared_memory_ = Fd(memfd_create("plimsoll", MFD_CLOEXEC));
  if (!shared_memory_ || ftruncate(shared_memory_.get(), static_cast<off_t>(bytes)) != 0) {
    fail(ErrorKind::io, "the system cannot provide {} of shared memory for {}: {}",
         format_bytes(bytes), path_.string(), std::strerror(errno));
  }
  map_shared(shared_memory_.get(), bytes, PROT_READ | PROT_WRITE);
}

void LinedFile::adopt(const Fd& memory, uint64_t line_bytes) {
  memory::Lease lease = ledger_->lease(tag_, line_bytes);
  map_shared(memory.get(), round_up(line_bytes, memory::kPageBytes), PROT_READ);
  const std::lock_guard lock(mutex_);
  line_bytes_ = line_bytes;
  lease_ = std::move(lease);
}

void LinedFile::raise(uint64_t line_bytes, unsigned threads,
                      const std::function<void(std::span<const std::byte> piece)>& on_piece) {
  const uint64_t goal = goal_of(line_bytes);
  for (uint64_t from = this->line_bytes(); from < goal;) {
    const uint64_t spare = ledger_->available_bytes();
    uint64_t to = std::min(goal, from + kRaiseBytes);
    if (to - from > spare) to = from + spare / kLineStepBytes * kLineStepBytes;
    if (to == from) return;
    std::optional<memory::Lease> lease = ledger_->lease_spare(tag_, to - from);
    if (!lease) return;
    const std::span<std::byte> room(reserved_ + from, to - from);
    // The file that is open, which may have lost its name to another one.
    const std::string opened = fmt::format("/proc/self/fd/{}", file_->file.fd.get());
    load({.path = opened, .name = path_.string(), .begin = from, .out = room}, threads, on_piece);
    const std::lock_guard lock(mutex_);
    // The line was lowered meanwhile, or the file has changed: then it must not be raised.
    if (line_bytes_ != from || changed(*file_)) {
      drop(from, to);
      return;
    }
    line_bytes_ = from = to;
    lease_.merge(std::move(*lease));
  }
}

// Of pages that nobody uses.
void LinedFile::drop(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  if (!shared_memory_) {
    madvise(reserved_ + begin, end - begin, MADV_DONTNEED);
  } else if (fallocate(shared_memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(begin), static_cast<off_t>(end - begin)) != 0) {
    fail_errno("release shared memory for", path_.string(), errno);
  }
}

// Afterwards there are none until the lock is released.
void LinedFile::wait_for_users(std::unique_lock<std::mutex>& lock) {
  lowering_ = true;
  changed_.wait(lock, [&] { return users_ == 0; });
  lowering_ = false;
  changed_.notify_all();
}

void LinedFile::lower_by(uint64_t bytes) {
  if (reserved_ == nullptr || shared_bytes_ > 0) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !lowering_; });
  if (line_bytes_ == 0) return;
  wait_for_users(lock);
  const uint64_t left =
      bytes >= line_bytes_ ? 0 : (line_bytes_ - bytes) / kLineStepBytes * kLineStepBytes;
  drop(left, round_up(line_bytes_, kLineStepBytes));
  line_bytes_ = left;
  lease_.shrink(left);
}

void LinedFile::move_shared_line(uint64_t line_bytes) {
  std::unique_lock lock(mutex_);
  const uint64_t goal = goal_of(std::min(line_bytes, shared_bytes_));
  if (goal < line_bytes_) {
    wait_for_users(lock);
    line_bytes_ = goal;
    lease_.shrink(goal);
  } else if (goal > line_bytes_) {
    // The ledger asks nobody to lower a line for this, so it is no trouble that the lock is held.
    std::optional<memory::Lease> lease = ledger_->lease_spare(tag_, goal - line_bytes_);
    if (!lease) return;
    line_bytes_ = goal;
    lease_.merge(std::move(*lease));
  }
}

void LinedFile::release_above_line() {
  const std::lock_guard lock(mutex_);
  drop(round_up(line_bytes_, kLineStepBytes), shared_bytes_);
}

std::byte* LinedFile::area(size_t place) const {
  std::byte* const first = reserved_ + round_up(shape_.bytes, kLineStepBytes);
  const uint64_t window_bytes = round_up(shape_.window_bytes, kLineStepBytes);
  if (place >= shape_.areas) return first + (place - shape_.areas) * window_bytes;
  return first + shape_.windows * window_bytes +
         place * round_up(shape_.area_bytes, memory::kPageBytes);
}

LinedFile::Area::Area(LinedFile& file, std::string_view tag)
    : Area(file, file.ledger_->lease(tag, round_up(file.shape_.area_bytes, memory::kPageBytes)), 0,
           file.shape_.areas) {
  memory_ = memory_.first(file.shape_.area_bytes);
}

LinedFile::Area::Area(LinedFile& file, memory::Lease window)
    : Area(file, std::move(window), file.shape_.areas, file.taken_areas_.size()) {
  check_window();
}

void LinedFile::Area::extend(memory::Lease more) {
  lease_.merge(std::move(more));
  memory_ = {memory_.data(), lease_.bytes()};
  check_window();
}

void LinedFile::Area::check_window() {
  if (memory_.size() > round_up(file_.shape_.window_bytes, kLineStepBytes)) {
    fail(ErrorKind::internal, "a window of {} bytes, {} is the most", memory_.size(),
         file_.shape_.window_bytes);
  }
  // In large pages, which fill faster, but not the last part: it may be less than one.
  madvise(memory_.data(), memory_.size() / kLineStepBytes * kLineStepBytes, MADV_HUGEPAGE);
}

LinedFile::Area::Area(LinedFile& file, memory::Lease lease, size_t first_place, size_t last_place)
    : file_(file), lease_(std::move(lease)) {
  const std::lock_guard lock(file.mutex_);
  place_ = first_place;
  while (place_ < last_place && file.taken_areas_[place_]) ++place_;
  if (place_ == last_place) {
    fail(ErrorKind::internal, "all {} areas behind {} are taken", last_place - first_place,
         file.path_.string());
  }
  file.taken_areas_[place_] = true;
  memory_ = {file.area(place_), lease_.bytes()};
}

LinedFile::Area::~Area() {
  madvise(memory_.data(), lease_.bytes(), MADV_DONTNEED);
  const std::lock_guard lock(file_.mutex_);
  file_.taken_areas_[place_] = false;
}

}  // namespace plimsoll::io
