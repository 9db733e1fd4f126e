#include "formats/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"

namespace plimsoll::formats {
namespace {

constexpr uint64_t kSweepBytes = 32 * kMiB;
constexpr size_t kSkipBytes = 64 * kKiB;
constexpr size_t kGzipInputBytes = 256 * kKiB;

class FileStream final : public ByteStream {
 public:
  FileStream(const std::filesystem::path& path, Fd fd)
      : ByteStream(path.string()), fd_(std::move(fd)), broom_(fd_.get()) {
    struct stat status = {};
    if (::fstat(fd_.get(), &status) != 0) fail_errno("read", name(), errno);
    file_bytes_ = static_cast<uint64_t>(status.st_size);
  }

 private:
  size_t read_some(std::span<std::byte> bytes) override {
    ssize_t count = 0;
    do {
      count = ::pread(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(position()));
    } while (count < 0 && errno == EINTR);
    if (count < 0) fail_errno("read", name(), errno);
    broom_.note_read(static_cast<uint64_t>(count));
    return static_cast<size_t>(count);
  }

  uint64_t skip_some(uint64_t count) override {
    return std::min(count, file_bytes_ - std::min(file_bytes_, position()));
  }

  Fd fd_;
  CacheBroom broom_;
  uint64_t file_bytes_ = 0;
};

class GzipStream final : public ByteStream {
 public:
  GzipStream(const std::filesystem::path& path, std::unique_ptr<ByteStream> file)
      : ByteStream(path.string()), file_(std::move(file)), input_(kGzipInputBytes) {
    constexpr int kGzipOnly = 16;
    if (::inflateInit2(&inflater_, MAX_WBITS + kGzipOnly) != Z_OK) {
      fail(ErrorKind::internal, "zlib cannot start: {}",
           inflater_.msg ? inflater_.msg : "no memory");
    }
  }
  ~GzipStream() override { ::inflateEnd(&inflater_); }
  uint64_t file_position() const override { return file_->position(); }

 private:
  size_t read_some(std::span<std::byte> bytes) override {
    const auto wanted = static_cast<uInt>(std::min<size_t>(bytes.size(), kGiB));
    inflater_.next_out = reinterpret_cast<Bytef*>(bytes.data());
    inflater_.avail_out = wanted;
    while (inflater_.avail_out == wanted) {
      if (inflater_.avail_in == 0) refill();
      if (inflater_.avail_in == 0) {
        if (inside_member_) fail_at("ends in the middle of its gzip data");
        break;
      }
      inside_member_ = true;
      const int result = ::inflate(&inflater_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        inside_member_ = false;
        ::inflateReset(&inflater_);
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        fail_at(inflater_.msg ? inflater_.msg : "holds no valid gzip data");
      }
    }
    return wanted - inflater_.avail_out;
  }

  void refill() {
    const size_t count = file_->read(input_);
    inflater_.next_in = reinterpret_cast<Bytef*>(input_.data());
    inflater_.avail_in = static_cast<uInt>(count);
  }

  [[noreturn]] void fail_at(std::string_view what) const {
    fail(ErrorKind::input, "{}, byte {}: {}; the file is damaged, fetch it again", name(),
         file_->position() - inflater_.avail_in, what);
  }

  std::unique_ptr<ByteStream> file_;
  std::vector<std::byte> input_;
  z_stream inflater_ = {};
  bool inside_member_ = true;  // an empty file is no gzip file
};

class MemoryStream final : public ByteStream {
 public:
  MemoryStream(std::span<const std::byte> bytes, std::string name)
      : ByteStream(std::move(name)), bytes_(bytes) {}

 private:
  size_t read_some(std::span<std::byte> bytes) override {
    const size_t count = std::min(bytes.size(), bytes_.size() - position());
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(position()), count, bytes.begin());
    return count;
  }

  std::span<const std::byte> bytes_;
};

}  // namespace

size_t ByteStream::read(std::span<std::byte> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const size_t count = read_some(bytes.subspan(done));
    if (count == 0) break;
    done += count;
    position_ += count;
  }
  return done;
}

uint64_t ByteStream::skip(uint64_t count) {
  uint64_t done = 0;
  while (done < count) {
    throw_if_interrupted();
    const uint64_t step = skip_some(count - done);
    if (step == 0) break;
    done += step;
    position_ += step;
  }
  return done;
}

uint64_t ByteStream::skip_some(uint64_t count) {
  std::array<std::byte, kSkipBytes> discarded;
  return read_some(std::span(discarded).first(std::min<uint64_t>(count, kSkipBytes)));
}

std::unique_ptr<ByteStream> open_file(const std::filesystem::path& path) {
  return std::make_unique<FileStream>(path, open_regular_file(path));
}

std::unique_ptr<ByteStream> open_gzip(const std::filesystem::path& path) {
  return std::make_unique<GzipStream>(path, open_file(path));
}

std::unique_ptr<ByteStream> open_text(const std::filesystem::path& path) {
  constexpr std::array kGzipMagic = {std::byte{0x1f}, std::byte{0x8b}};
  std::array<std::byte, 2> start = {};
  const size_t count = open_file(path)->read(start);
  return count == start.size() && start == kGzipMagic ? open_gzip(path) : open_file(path);
}

std::unique_ptr<ByteStream> open_memory(std::span<const std::byte> bytes, std::string name) {
  return std::make_unique<MemoryStream>(bytes, std::move(name));
}

Fd open_regular_file(const std::filesystem::path& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) fail_errno("open", path.string(), errno);
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) fail_errno("read", path.string(), errno);
  if (S_ISDIR(status.st_mode)) {
    fail(ErrorKind::io, "{} is a folder, a file is expected", path.string());
  }
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorKind::io, "{} is a pipe or a device, a regular file is expected: it is read twice",
         path.string());
  }
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return fd;
}

void CacheBroom::note_read(uint64_t bytes) {
  unswept_bytes_ += bytes;
  if (unswept_bytes_ >= kSweepBytes) sweep();
}

// Sweeps the whole file: where in it an unzipped byte came from is not known, and what another
// stream over the same file has read ahead is little.
void CacheBroom::sweep() {
  ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  unswept_bytes_ = 0;
}

}  // namespace plimsoll::formats
