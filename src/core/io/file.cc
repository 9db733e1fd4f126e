#include "io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "io/transfers.h"

namespace plimsoll::io {
namespace {

constexpr uint64_t kPieceBytes = 4 * kStreamBytes;

}  // namespace

struct Checksum::State {
  XXH3_state_t* xxh3 = XXH3_createState();
  State() { XXH3_64bits_reset(xxh3); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(xxh3); }
};

Checksum::Checksum() : state_(std::make_unique<State>()) {}
Checksum::~Checksum() = default;

void Checksum::update(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_->xxh3, bytes.data(), bytes.size());
}

std::string Checksum::hex() const {
  return fmt::format("{:016x}", XXH3_64bits_digest(state_->xxh3));
}

std::string checksum_of(std::string_view bytes) {
  Checksum checksum;
  checksum.update(std::as_bytes(std::span(bytes)));
  return checksum.hex();
}

OpenFile open_uncached(const std::filesystem::path& path, int flags) {
  OpenFile file{Fd(::open(path.c_str(), flags | O_CLOEXEC | O_DIRECT, 0666)), path.string(), true};
  if (!file.fd && errno == EINVAL) {
    file.fd = Fd(::open(path.c_str(), flags | O_CLOEXEC, 0666));
    file.direct = false;
  }
  if (!file.fd) fail_errno("open", file.path, errno);
  return file;
}

namespace {

constexpr uint64_t kMostUnwrittenBytes = 4 * kStreamBytes;  // of one write, in the page cache

// Waits until the disk has them. A memory limit counts pages that wait to be written and cannot
// drop them: with a slow disk, the kernel would kill a process that has none to spare.
void leave_page_cache(const OpenFile& file, uint64_t offset, uint64_t bytes) {
  const auto begin = static_cast<off_t>(offset);
  const auto length = static_cast<off_t>(bytes);
  const Syncing waiting;
  ::sync_file_range(
      file.fd.get(), begin, length,
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  ::posix_fadvise(file.fd.get(), begin, length, POSIX_FADV_DONTNEED);
}

}  // namespace

void write_fully(const OpenFile& file, std::span<const std::byte> bytes, uint64_t offset) {
  const bool large = !file.direct && bytes.size() >= kStreamBytes;
  const uint64_t most = file.direct ? UINT64_MAX : kMostUnwrittenBytes;
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file.fd.get(), bytes.data(), std::min(bytes.size(), most),
                                   static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno("write", file.path, errno);
    count_transfer();
    if (large) leave_page_cache(file, offset, static_cast<uint64_t>(count));
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
}

void read_fully(const OpenFile& file, std::span<std::byte> bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pread(file.fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno("read", file.path, errno);
    if (count == 0) {
      fail(ErrorKind::io, "{} ends at byte {}, {} more expected", file.path, offset, bytes.size());
    }
    count_transfer();
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
}

FileWriter::FileWriter(memory::Ledger& ledger, const std::filesystem::path& path)
    : file_(open_uncached(path, O_WRONLY | O_CREAT | O_TRUNC)),
      buffer_(ledger, "file buffers", kStreamBytes) {}

void FileWriter::append(std::span<const std::byte> bytes) {
  checksum_.update(bytes);
  while (!bytes.empty()) {
    const size_t take = std::min<size_t>(bytes.size(), buffer_.size() - filled_bytes_);
    std::memcpy(buffer_.data() + filled_bytes_, bytes.data(), take);
    bytes = bytes.subspan(take);
    filled_bytes_ += take;
    if (filled_bytes_ == buffer_.size()) write_buffer(filled_bytes_);
  }
}

void FileWriter::write_buffer(uint64_t bytes) {
  write_fully(file_, buffer_.first(bytes), written_bytes_);
  written_bytes_ += filled_bytes_;
  filled_bytes_ = 0;
}

WrittenFile FileWriter::finish() {
  const uint64_t total = written_bytes_ + filled_bytes_;
  if (filled_bytes_ > 0) {
    const uint64_t padded = round_up_to_block(filled_bytes_);
    std::memset(buffer_.data() + filled_bytes_, 0, padded - filled_bytes_);
    write_buffer(padded);
  }
  const Syncing waiting;
  if (::ftruncate(file_.fd.get(), static_cast<off_t>(total)) != 0 || ::fsync(file_.fd.get()) != 0) {
    fail_errno("finish", file_.path, errno);
  }
  if (!file_.direct) ::posix_fadvise(file_.fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  return {total, checksum_.hex()};
}

FileReader::FileReader(memory::Ledger& ledger, const std::filesystem::path& path)
    : file_(open_uncached(path, O_RDONLY)), buffer_(ledger, "file buffers", kStreamBytes) {
  struct stat status = {};
  if (::fstat(file_.fd.get(), &status) != 0) fail_errno("read", file_.path, errno);
  size_bytes_ = static_cast<uint64_t>(status.st_size);
}

size_t FileReader::read_some(std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size() && position_ < size_bytes_) {
    if (position_ == buffer_offset_ + buffered_bytes_) {
      buffer_offset_ = position_;
      buffered_bytes_ = std::min<uint64_t>(buffer_.size(), size_bytes_ - buffer_offset_);
      // The last read asks for a whole block, as O_DIRECT wants, and gets what is there.
      ssize_t count = 0;
      do {
        count = ::pread(file_.fd.get(), buffer_.data(), round_up_to_block(buffered_bytes_),
                        static_cast<off_t>(buffer_offset_));
      } while (count < 0 && errno == EINTR);
      if (count < 0) fail_errno("read", file_.path, errno);
      count_transfer();
      if (static_cast<uint64_t>(count) < buffered_bytes_) {
        fail(ErrorKind::io, "{} shrank to {} bytes while it was read", file_.path,
             buffer_offset_ + static_cast<uint64_t>(count));
      }
      if (!file_.direct) {
        ::posix_fadvise(file_.fd.get(), 0, static_cast<off_t>(position_), POSIX_FADV_DONTNEED);
      }
    }
    const uint64_t begin = position_ - buffer_offset_;
    const size_t take = std::min<size_t>(out.size() - done, buffered_bytes_ - begin);
    std::memcpy(out.data() + done, buffer_.data() + begin, take);
    done += take;
    position_ += take;
  }
  return done;
}

void load(const LoadRange& range, unsigned threads,
          const std::function<void(std::span<const std::byte> piece)>& on_piece) {
  if (range.out.empty()) return;
  const std::filesystem::path& path = range.path;
  OpenFile direct = open_uncached(path, O_RDONLY);
  if (!range.name.empty()) direct.path = range.name;
  // O_DIRECT moves whole blocks only; the file's last bytes come through a plain descriptor.
  const OpenFile plain{Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), direct.path, false};
  if (!plain.fd) fail_errno("open", plain.path, errno);
  const uint64_t pieces = (range.out.size() + kPieceBytes - 1) / kPieceBytes;
  parallel_for(static_cast<unsigned>(std::min<uint64_t>(threads, pieces)), pieces, [&](size_t i) {
    const uint64_t first = i * kPieceBytes;
    const auto piece =
        range.out.subspan(first, std::min<uint64_t>(kPieceBytes, range.out.size() - first));
    const uint64_t offset = range.begin + first;
    const uint64_t whole = piece.size() / kBlockBytes * kBlockBytes;
    read_fully(direct, piece.first(whole), offset);
    read_fully(plain, piece.subspan(whole), offset + whole);
    if (!direct.direct) {
      ::posix_fadvise(direct.fd.get(), static_cast<off_t>(offset), static_cast<off_t>(piece.size()),
                      POSIX_FADV_DONTNEED);
    }
    on_piece(piece);
  });
}

Disk disk_of(const std::filesystem::path& folder) {
  struct stat status = {};
  struct statvfs space = {};
  if (::stat(folder.c_str(), &status) != 0 || ::statvfs(folder.c_str(), &space) != 0) {
    fail_errno("use the folder", folder.string(), errno);
  }
  return {status.st_dev, static_cast<uint64_t>(space.f_bavail) * space.f_frsize};
}

}  // namespace plimsoll::io
