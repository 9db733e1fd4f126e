#include "formats/byte_stream.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <zip.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
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
  bool inside_member_ = true;  // from the start: an empty file is not a gzip file
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

// Sweeps the whole file, because it is not known where in the file a decompressed byte came from.
// Another stream over the same file loses only a little that was read ahead.
void CacheBroom::sweep() {
  ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  unswept_bytes_ = 0;
}

namespace {

struct CloseArchive {
  void operator()(zip_t* archive) const { ::zip_discard(archive); }
};
using ReadArchive = std::unique_ptr<zip_t, CloseArchive>;

struct CloseMember {
  void operator()(zip_file_t* member) const { ::zip_fclose(member); }
};
using Member = std::unique_ptr<zip_file_t, CloseMember>;

ReadArchive open_archive(const std::filesystem::path& path) {
  int code = ZIP_ER_OK;
  ReadArchive archive(::zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive) return archive;
  zip_error_t error;
  ::zip_error_init_with_code(&error, code);
  const std::string words = ::zip_error_strerror(&error);
  ::zip_error_fini(&error);
  fail(ErrorKind::input,
       "{} cannot be read as a zip archive (npz): {}; if it was copied or "
       "downloaded, fetch it again",
       path.string(), words);
}

std::vector<std::string> list_members(zip_t* archive) {
  std::vector<std::string> members;
  const zip_int64_t count = ::zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = ::zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    if (name != nullptr) members.emplace_back(name);
  }
  return members;
}

// The name of a compression method that numpy does not write but other programs do.
std::string method_words(unsigned method) {
  switch (method) {
    case ZIP_CM_BZIP2:
      return "bzip2";
    case ZIP_CM_LZMA:
      return "lzma";
    case ZIP_CM_DEFLATE64:
      return "deflate64";
    default:
      return fmt::format("method {}", method);
  }
}

class ZipMemberStream final : public ByteStream {
 public:
  ZipMemberStream(const std::filesystem::path& path, const std::string& member)
      : ByteStream(fmt::format("{}, member {}", path.string(), member)),
        fd_(open_regular_file(path)),
        broom_(fd_.get()),
        archive_(open_archive(path)) {
    const zip_int64_t index = ::zip_name_locate(archive_.get(), member.c_str(), 0);
    if (index < 0) {
      fail(ErrorKind::input, "{} has no member {}; it has: {}", path.string(), member,
           fmt::join(list_members(archive_.get()), ", "));
    }
    check_readable(static_cast<zip_uint64_t>(index));
    member_.reset(::zip_fopen_index(archive_.get(), static_cast<zip_uint64_t>(index), 0));
    if (!member_) fail_at(::zip_strerror(archive_.get()));
  }

 private:
  void check_readable(zip_uint64_t index) const {
    zip_stat_t status;
    if (::zip_stat_index(archive_.get(), index, 0, &status) != 0) {
      fail_at(::zip_strerror(archive_.get()));
    }
    if ((status.valid & ZIP_STAT_ENCRYPTION_METHOD) && status.encryption_method != ZIP_EM_NONE) {
      fail(ErrorKind::input, "{} is encrypted; write the archive again without a password", name());
    }
    const bool plain = !(status.valid & ZIP_STAT_COMP_METHOD) ||
                       status.comp_method == ZIP_CM_STORE || status.comp_method == ZIP_CM_DEFLATE;
    if (!plain) {
      fail(ErrorKind::input,
           "{} is compressed by {}; only stored and deflated members are read, as "
           "np.savez and np.savez_compressed write them",
           name(), method_words(status.comp_method));
    }
  }

  size_t read_some(std::span<std::byte> bytes) override {
    const zip_int64_t count = ::zip_fread(member_.get(), bytes.data(), bytes.size());
    if (count < 0) {
      zip_error_t* error = ::zip_file_get_error(member_.get());
      if (::zip_error_code_zip(error) == ZIP_ER_READ) {
        fail_errno("read", name(), ::zip_error_code_system(error));
      }
      fail_at(::zip_error_strerror(error));
    }
    broom_.note_read(static_cast<uint64_t>(count));
    return static_cast<size_t>(count);
  }

  [[noreturn]] void fail_at(std::string_view what) const {
    fail(ErrorKind::input, "{}, byte {}: {}; the file is damaged, fetch it again", name(),
         position(), what);
  }

  Fd fd_;  // for the broom: libzip does not expose its own
  CacheBroom broom_;
  ReadArchive archive_;
  Member member_;  // declared after the archive, so that it is closed first
};

}  // namespace

std::vector<std::string> zip_members(const std::filesystem::path& archive) {
  open_regular_file(archive);
  return list_members(open_archive(archive).get());
}

std::unique_ptr<ByteStream> open_zip_member(const std::filesystem::path& archive,
                                            const std::string& member) {
  return std::make_unique<ZipMemberStream>(archive, member);
}

}  // namespace plimsoll::formats
