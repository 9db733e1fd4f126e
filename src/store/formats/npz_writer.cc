// libzip writes inside zip_close(), which calls back for every few KiB of every member. An
// exception must not cross libzip: the member keeps it until zip_close() has returned.
#include "formats/npz_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zip.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <exception>
#include <list>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"

namespace plimsoll::formats {
namespace {

constexpr uint64_t kNpyAlignment = 64;
constexpr uint64_t kNpyPrefixBytes = 10;  // magic, version and the length of the rest
constexpr uint32_t kDeflateLevel = 1;

// 1 January 1980, the earliest date in a zip. A fixed date makes the file depend only on the graph.
std::time_t zip_epoch() {
  std::tm date = {};
  date.tm_year = 80;
  date.tm_mday = 1;
  date.tm_isdst = -1;
  return std::mktime(&date);
}

// Owns a libzip error.
struct ZipError {
  zip_error_t value;
  ZipError() { zip_error_init(&value); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  ~ZipError() { zip_error_fini(&value); }
};

// One member while it is written: gives libzip the header, then the pieces. libzip keeps its
// address, so it cannot move.
class MemberReader {
 public:
  MemberReader(NpyMember member, Progress& progress)
      : member_(std::move(member)),
        progress_(progress),
        header_(npy_header(member_.type, member_.shape)),
        total_bytes_(npy_bytes(member_.type, member_.shape)),
        piece_(std::as_bytes(std::span(header_))) {}
  MemberReader(const MemberReader&) = delete;
  MemberReader& operator=(const MemberReader&) = delete;

  const std::string& name() const { return member_.name; }
  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  // A zip_source_callback.
  static zip_int64_t answer(void* self, void* data, zip_uint64_t bytes,
                            zip_source_cmd_t command) noexcept {
    auto& reader = *static_cast<MemberReader*>(self);
    try {
      return reader.answer(data, bytes, command);
    } catch (...) {
      reader.failure_ = std::current_exception();
      zip_error_set(&reader.error_.value, ZIP_ER_READ, 0);
      return -1;
    }
  }

 private:
  zip_int64_t answer(void* data, zip_uint64_t bytes, zip_source_cmd_t command);
  zip_int64_t read(std::span<std::byte> out);
  zip_int64_t describe(zip_stat_t& stat) const;
  void next_piece();

  const NpyMember member_;
  Progress& progress_;
  const std::string header_;
  const uint64_t total_bytes_;
  std::span<const std::byte> piece_;  // the unread rest of the current piece
  uint64_t done_bytes_ = 0;
  ZipError error_;
  std::exception_ptr failure_;
};

zip_int64_t MemberReader::answer(void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
  switch (command) {
    case ZIP_SOURCE_OPEN:
      if (!member_.step.empty()) progress_.start_step(member_.step, "bytes", total_bytes_);
      return 0;
    case ZIP_SOURCE_READ:
      return read({static_cast<std::byte*>(data), bytes});
    case ZIP_SOURCE_STAT:
      return describe(*static_cast<zip_stat_t*>(data));
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&error_.value, data, bytes);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
      return 0;
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                            ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
    default:
      zip_error_set(&error_.value, ZIP_ER_OPNOTSUPP, 0);
      return -1;
  }
}

zip_int64_t MemberReader::read(std::span<std::byte> out) {
  size_t filled = 0;
  while (filled < out.size() && done_bytes_ < total_bytes_) {
    if (piece_.empty()) next_piece();
    const size_t take = std::min(piece_.size(), out.size() - filled);
    std::memcpy(out.data() + filled, piece_.data(), take);
    piece_ = piece_.subspan(take);
    filled += take;
    done_bytes_ += take;
  }
  return static_cast<zip_int64_t>(filled);
}

void MemberReader::next_piece() {
  throw_if_interrupted();
  piece_ = member_.next_piece();
  if (piece_.empty() || piece_.size() > total_bytes_ - done_bytes_) {
    fail(ErrorKind::internal, "{} must have {} bytes, but at byte {} got a piece of {}",
         member_.name, total_bytes_, done_bytes_, piece_.size());
  }
  if (!member_.step.empty()) progress_.add(piece_.size());
}

zip_int64_t MemberReader::describe(zip_stat_t& stat) const {
  zip_stat_init(&stat);
  stat.size = total_bytes_;
  stat.mtime = zip_epoch();
  stat.valid = ZIP_STAT_SIZE | ZIP_STAT_MTIME;
  return sizeof stat;
}

[[noreturn]] void fail_zip(const std::filesystem::path& path, zip_error_t* error) {
  if (zip_error_system_type(error) == ZIP_ET_SYS) {
    fail_errno("write", path.string(), zip_error_code_system(error));
  }
  fail(ErrorKind::io, "cannot write {}: {}", path.string(), zip_error_strerror(error));
}

// The archive until it is closed. Without close() nothing of it stays on disk.
class Archive {
 public:
  explicit Archive(std::filesystem::path path) : path_(std::move(path)) {
    int code = 0;
    archive_ = zip_open(path_.c_str(), ZIP_CREATE | ZIP_EXCL, &code);
    if (archive_ != nullptr) return;
    ZipError error;
    zip_error_init_with_code(&error.value, code);  // also records errno
    fail_zip(path_, &error.value);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive() {
    if (archive_ != nullptr) zip_discard(archive_);
  }

  // `member` must outlive the archive.
  void add(MemberReader& member, bool deflate) {
    zip_source_t* source = zip_source_function(archive_, &MemberReader::answer, &member);
    if (source == nullptr) fail_zip(path_, zip_get_error(archive_));
    const zip_int64_t index =
        zip_file_add(archive_, member.name().c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      fail_zip(path_, zip_get_error(archive_));
    }
    if (zip_set_file_compression(archive_, static_cast<zip_uint64_t>(index),
                                 deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                                 deflate ? kDeflateLevel : 0) != 0) {
      fail_zip(path_, zip_get_error(archive_));
    }
  }

  // Writes everything. Returns false if that failed; error() then says why.
  bool close() {
    if (zip_close(archive_) != 0) return false;
    archive_ = nullptr;
    return true;
  }
  zip_error_t* error() { return zip_get_error(archive_); }

 private:
  std::filesystem::path path_;
  zip_t* archive_ = nullptr;
};

}  // namespace

std::string npy_header(NpyType type, std::span<const uint64_t> shape) {
  const std::string dict = fmt::format(
      "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
      type == NpyType::int64 ? "<i8" : "<f4", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const uint64_t used = kNpyPrefixBytes + dict.size() + 1;  // 1 for the newline
  const uint64_t padding = (kNpyAlignment - used % kNpyAlignment) % kNpyAlignment;
  const uint64_t rest_bytes = dict.size() + padding + 1;
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(rest_bytes % 256);
  header += static_cast<char>(rest_bytes / 256);
  return header + dict + std::string(padding, ' ') + "\n";
}

uint64_t npy_bytes(NpyType type, std::span<const uint64_t> shape) {
  uint64_t bytes = size_bytes(type);
  for (const uint64_t extent : shape) bytes *= extent;
  return npy_header(type, shape).size() + bytes;
}

void write_npz(const std::filesystem::path& path, std::vector<NpyMember> members, bool deflate,
               Progress& progress) {
  std::list<MemberReader> readers;  // a list: their addresses must stay
  Archive archive(path);
  for (NpyMember& member : members) {
    archive.add(readers.emplace_back(std::move(member), progress), deflate);
  }
  if (!archive.close()) {
    for (const MemberReader& reader : readers) reader.rethrow_failure();
    fail_zip(path, archive.error());
  }
  progress.finish_step();
}

}  // namespace plimsoll::formats
