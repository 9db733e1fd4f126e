#include "io/lined_file.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "io/load.h"

namespace plimsoll::io {
namespace {

constexpr uint64_t kRaiseBytes = 32 * kLineStepBytes;  // between two looks at who wants it lower

uint64_t round_up(uint64_t bytes, uint64_t step) { return (bytes + step - 1) / step * step; }

}  // namespace

LinedFile::LinedFile(memory::Ledger& ledger, std::string_view tag,
                     const std::filesystem::path& path, const Shape& shape)
    : ledger_(&ledger),
      tag_(tag),
      shape_(shape),
      file_(std::make_unique<RowFile>(open_rows(path))),
      path_(path),
      reserved_bytes_(round_up(shape.bytes, kLineStepBytes) +
                      shape.areas * round_up(shape.area_bytes, memory::kPageBytes)),
      areas_lent_(shape.areas) {
  if (file_->size_bytes < shape.bytes) {
    fail(ErrorKind::store, "{} has {} bytes, {} expected; import the graph again", path.string(),
         file_->size_bytes, shape.bytes);
  }
  if (reserved_bytes_ == 0) return;
  void* mapped = mmap(nullptr, reserved_bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    fail(ErrorKind::memory,
         "the system gives no address space of {} for {} ({}); see ulimit -v and "
         "vm.overcommit_memory",
         format_bytes(reserved_bytes_), path.string(), std::strerror(errno));
  }
  reserved_ = static_cast<std::byte*>(mapped);
  madvise(reserved_, reserved_bytes_, MADV_HUGEPAGE);
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

void LinedFile::raise(uint64_t line_bytes, unsigned threads,
                      const std::function<void(std::span<const std::byte> piece)>& on_piece) {
  const uint64_t goal =
      line_bytes >= shape_.bytes ? shape_.bytes : line_bytes / kLineStepBytes * kLineStepBytes;
  for (uint64_t from = this->line_bytes(); from < goal;) {
    const uint64_t to = std::min(goal, from + kRaiseBytes);
    std::optional<memory::Lease> lease = ledger_->lease_spare(tag_, to - from);
    if (!lease) return;
    const std::span<std::byte> room(reserved_ + from, to - from);
    load({.path = path_, .begin = from, .out = room}, threads, on_piece);
    const std::lock_guard lock(mutex_);
    if (line_bytes_ != from) {  // lowered meanwhile: this is not the time to raise it
      madvise(room.data(), room.size(), MADV_DONTNEED);
      return;
    }
    line_bytes_ = from = to;
    lease_.merge(std::move(*lease));
  }
}

void LinedFile::lower_by(uint64_t bytes) {
  if (reserved_ == nullptr) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !lowering_; });
  if (line_bytes_ == 0) return;
  lowering_ = true;
  changed_.wait(lock, [&] { return users_ == 0; });
  const uint64_t left =
      bytes >= line_bytes_ ? 0 : (line_bytes_ - bytes) / kLineStepBytes * kLineStepBytes;
  madvise(reserved_ + left, round_up(line_bytes_, kLineStepBytes) - left, MADV_DONTNEED);
  line_bytes_ = left;
  lease_.shrink(left);
  lowering_ = false;
  changed_.notify_all();
}

std::span<std::byte> LinedFile::area(uint64_t index) const {
  const uint64_t step = round_up(shape_.area_bytes, memory::kPageBytes);
  return {reserved_ + round_up(shape_.bytes, kLineStepBytes) + index * step, step};
}

LinedFile::Area::Area(LinedFile& file, std::string_view tag, uint64_t bytes)
    : bytes_(round_up(bytes, memory::kPageBytes)), lease_(file.ledger_->lease(tag, bytes_)) {
  const std::lock_guard lock(file.mutex_);
  const auto free = std::find(file.areas_lent_.begin(), file.areas_lent_.end(), false);
  if (free == file.areas_lent_.end() || bytes_ > file.area(0).size()) {
    fail(ErrorKind::internal, "no area of {} bytes behind {}: {} of {} bytes are all lent", bytes,
         file.path_.string(), file.areas_lent_.size(), file.shape_.area_bytes);
  }
  *free = true;
  index_ = static_cast<uint64_t>(free - file.areas_lent_.begin());
  file_ = &file;
}

LinedFile::Area::~Area() {
  if (file_ == nullptr) return;
  madvise(bytes().data(), bytes().size(), MADV_DONTNEED);
  const std::lock_guard lock(file_->mutex_);
  file_->areas_lent_[index_] = false;
}

std::span<std::byte> LinedFile::Area::bytes() const { return file_->area(index_).first(bytes_); }

}  // namespace plimsoll::io
