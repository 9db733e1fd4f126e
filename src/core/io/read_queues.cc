#include "io/read_queues.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace plimsoll::io {

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
