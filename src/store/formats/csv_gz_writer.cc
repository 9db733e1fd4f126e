#include "formats/csv_gz_writer.h"

#include <charconv>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"

namespace plimsoll::formats {
namespace {

constexpr uint64_t kTextBytes = 256 * kKiB;
constexpr uint64_t kPackedBytes = 64 * kKiB;
constexpr uint64_t kZlibBytes =
    272 * kKiB;                       // window, hash chains and codes, as zconf.h counts them
constexpr int kWindowBits = 15 + 16;  // 16 asks zlib for a gzip header
constexpr int kMemoryLevel = 8;

}  // namespace

CsvGzWriter::CsvGzWriter(memory::Ledger& ledger, const std::filesystem::path& path)
    : file_(ledger, path),
      zlib_lease_(ledger.lease("gzip", kZlibBytes)),
      text_(ledger, "gzip", kTextBytes),
      packed_(ledger, "gzip", kPackedBytes) {
  if (deflateInit2(&zlib_, Z_BEST_SPEED, Z_DEFLATED, kWindowBits, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    fail(ErrorKind::memory, "zlib cannot start for {}: it needs {}", path.string(),
         format_bytes(kZlibBytes));
  }
}

CsvGzWriter::~CsvGzWriter() { deflateEnd(&zlib_); }

template <typename T>
void CsvGzWriter::add(T value) {
  if (text_.size() - text_bytes_ < kMaxFieldBytes) compress(Z_NO_FLUSH);
  if (line_has_field_) text_[text_bytes_++] = ',';
  const std::to_chars_result result = std::to_chars(text_.data() + text_bytes_, text_.end(), value);
  text_bytes_ = static_cast<uint64_t>(result.ptr - text_.data());
  line_has_field_ = true;
}

void CsvGzWriter::add_integer(uint64_t value) { add(value); }
void CsvGzWriter::add_decimal(float value) { add(value); }

void CsvGzWriter::end_line() {
  if (text_bytes_ == text_.size()) compress(Z_NO_FLUSH);
  text_[text_bytes_++] = '\n';
  line_has_field_ = false;
}

void CsvGzWriter::compress(int flush) {
  throw_if_interrupted();
  zlib_.next_in = reinterpret_cast<Bytef*>(text_.data());
  zlib_.avail_in = static_cast<uInt>(text_bytes_);
  do {
    zlib_.next_out = reinterpret_cast<Bytef*>(packed_.data());
    zlib_.avail_out = static_cast<uInt>(packed_.size());
    deflate(&zlib_, flush);
    file_.append(packed_.first(packed_.size() - zlib_.avail_out));
  } while (zlib_.avail_out == 0);
  text_bytes_ = 0;
}

void CsvGzWriter::finish() {
  compress(Z_FINISH);
  file_.finish();
}

}  // namespace plimsoll::formats
