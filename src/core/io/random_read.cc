#include "io/random_read.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace plimsoll::io {
namespace {

// The alignment that the kernel states for direct reads of this file; 0: it has no direct reads. A
// trial cannot tell: some file systems accept any read and use the page cache for it.
uint64_t stated_alignment([[maybe_unused]] const OpenFile& file) {
#ifdef STATX_DIOALIGN
  struct statx about = {};
  if (::statx(file.fd.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &about) == 0 &&
      (about.stx_mask & STATX_DIOALIGN) != 0) {
    if (about.stx_dio_offset_align == 0) return 0;
    return std::max<uint64_t>({kSectorBytes, about.stx_dio_offset_align, about.stx_dio_mem_align});
  }
#endif
  return kSectorBytes;
}

bool can_read_at(const RowFile& rows, uint64_t alignment) {
  // Aligned as asked and no better.
  const std::unique_ptr<void, decltype(&std::free)> memory(
      std::aligned_alloc(2 * alignment, 2 * alignment), &std::free);
  if (memory == nullptr) return false;
  const uint64_t offset = rows.size_bytes > alignment ? alignment : 0;
  ssize_t count = 0;
  do {
    count = ::pread(rows.file.fd.get(), static_cast<std::byte*>(memory.get()) + alignment,
                    alignment, static_cast<off_t>(offset));
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno != EINVAL) fail_errno("read", rows.file.path, errno);
  return count >= 0;
}

// 0 where no direct read succeeds.
uint64_t direct_alignment(const RowFile& rows) {
  const uint64_t stated = stated_alignment(rows.file);
  if (stated == 0) return 0;
  for (const uint64_t alignment : {stated, kBlockBytes}) {
    if (can_read_at(rows, alignment)) return alignment;
  }
  return 0;
}

void check(const RowFile& file, const Piece& piece) {
  if (piece.offset + piece.bytes >= file.size_bytes + file.alignment) {
    fail(ErrorKind::internal, "{}: {} bytes at {} reach beyond the end at {}", file.file.path,
         piece.bytes, piece.offset, file.size_bytes);
  }
}

}  // namespace

RowFile open_rows(const std::filesystem::path& path) {
  RowFile rows{.file = open_uncached(path, O_RDONLY)};
  struct stat status = {};
  if (::fstat(rows.file.fd.get(), &status) != 0) fail_errno("read", rows.file.path, errno);
  if (S_ISDIR(status.st_mode)) fail_errno("read", rows.file.path, EISDIR);
  rows.size_bytes = static_cast<uint64_t>(status.st_size);
  rows.modified = status.st_mtim;
  const uint64_t alignment = rows.file.direct ? direct_alignment(rows) : 0;
  if (alignment > 0) {
    rows.alignment = alignment;
    return rows;
  }
  if (rows.file.direct) {
    const int flags = ::fcntl(rows.file.fd.get(), F_GETFL);
    if (flags < 0 || ::fcntl(rows.file.fd.get(), F_SETFL, flags & ~O_DIRECT) != 0) {
      fail_errno("read", rows.file.path, errno);
    }
    rows.file.direct = false;
  }
  ::posix_fadvise(rows.file.fd.get(), 0, 0, POSIX_FADV_RANDOM);  // no reading ahead
  return rows;
}

bool changed(const RowFile& file) {
  struct stat status = {};
  if (::fstat(file.file.fd.get(), &status) != 0) fail_errno("read", file.file.path, errno);
  return status.st_mtim.tv_sec != file.modified.tv_sec ||
         status.st_mtim.tv_nsec != file.modified.tv_nsec ||
         static_cast<uint64_t>(status.st_size) != file.size_bytes;
}

std::unique_ptr<ReadQueue> ReadQueue::open(memory::Ledger& ledger, ReadMethod method,
                                           unsigned depth) {
  depth = std::clamp(depth, 1U, kMostReadDepth);
  if (method == ReadMethod::threads) return open_thread_queue(ledger, depth);
  UringAttempt attempt = open_uring_queue(ledger, depth);
  if (attempt.queue) return std::move(attempt.queue);
  if (method == ReadMethod::uring) {
    fail(ErrorKind::io, "io_uring cannot be used here: {}; read by threads instead", attempt.why);
  }
  return open_thread_queue(ledger, depth);
}

void ReadQueue::read(const RowFile& file, std::span<const Piece> pieces) {
  using Clock = std::chrono::steady_clock;
  if (pieces.empty()) return;
  uint64_t bytes = 0;
  for (const Piece& piece : pieces) {
    check(file, piece);
    bytes += piece.bytes;
  }
  const Clock::time_point start = Clock::now();
  read_all(file, pieces);
  counts_.seconds += std::chrono::duration<double>(Clock::now() - start).count();
  counts_.reads += pieces.size();
  counts_.bytes += bytes;
}

#ifndef PLIMSOLL_URING  // see CMakeLists.txt; otherwise it is in uring_queue.cc
UringAttempt open_uring_queue(memory::Ledger& /*ledger*/, unsigned /*depth*/) {
  return {nullptr, "this program was built without liburing"};
}
#endif

ReadStep advance(const RowFile& file, int64_t result, Piece& rest) {
  if (result == -EINTR || result == -EAGAIN) return ReadStep::again;
  if (result < 0) return ReadStep::failed;
  const auto count = static_cast<uint32_t>(std::min<int64_t>(result, rest.bytes));
  rest.offset += count;
  rest.to += count;
  rest.bytes -= count;
  if (rest.bytes == 0 || rest.offset >= file.size_bytes) return ReadStep::done;
  // Only the end of a file cuts a read at an odd place.
  return count > 0 && count % file.alignment == 0 ? ReadStep::again : ReadStep::failed;
}

ReadFailure failure_of(int64_t result, const Piece& rest) {
  return {rest, result < 0 ? static_cast<int>(-result) : 0};
}

void fail_read(const RowFile& file, const ReadFailure& failure) {
  if (failure.error_number != 0) {
    fail(ErrorKind::io, "cannot read {} bytes at {} of {}: {}", failure.rest.bytes,
         failure.rest.offset, file.file.path, std::strerror(failure.error_number));
  }
  struct stat status = {};
  ::fstat(file.file.fd.get(), &status);
  fail(ErrorKind::store,
       "{}: nothing to read at byte {}: it has {} bytes now and had {} when it was opened; was it "
       "truncated or replaced while it was being read?",
       file.file.path, failure.rest.offset, status.st_size, file.size_bytes);
}

}  // namespace plimsoll::io
