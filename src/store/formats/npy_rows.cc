#include "formats/npy_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "io/file.h"
#include "io/partial_file.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kChunkBytes = 64 * kKiB;
constexpr uint64_t kLeastBucketBytes = 4 * kMiB;
constexpr const char* kTag = "predictions";

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

std::vector<uint64_t> shape_of(const NpyRows::Options& options) {
  if (options.columns == 0) return {options.rows};
  return {options.rows, options.columns};
}

}  // namespace

// Memory is one chunk per bucket while rows arrive, and one bucket while they are written. The two
// are equal if the bytes of a bucket are sqrt(all bytes * chunk bytes).
NpyRows::Layout NpyRows::lay_out(const Options& options) {
  const uint64_t row_bytes = size_bytes(options.type) * std::max<uint64_t>(1, options.columns);
  const uint64_t record_bytes = sizeof(uint64_t) + row_bytes;
  const uint64_t chunk_bytes = std::max(kChunkBytes, io::round_up_to_block(record_bytes));
  const double all = static_cast<double>(options.rows) * static_cast<double>(row_bytes);
  const auto balanced = static_cast<uint64_t>(std::sqrt(all * static_cast<double>(chunk_bytes)));
  const uint64_t bucket_rows =
      std::max<uint64_t>(1, std::max(kLeastBucketBytes, balanced) / row_bytes);
  return {row_bytes, record_bytes, chunk_bytes, bucket_rows,
          std::max<uint64_t>(1, (options.rows + bucket_rows - 1) / bucket_rows)};
}

uint64_t NpyRows::bytes_needed(const Options& options) {
  const Layout layout = lay_out(options);
  using Bytes = memory::Buffer<std::byte>;
  const uint64_t while_filled = Bytes::bytes_needed(layout.buckets * layout.chunk_bytes);
  const uint64_t bucket = std::min(layout.bucket_rows, options.rows) * layout.row_bytes;
  const uint64_t while_written =
      Bytes::bytes_needed(bucket) + Bytes::bytes_needed(layout.chunk_bytes);
  return Bytes::bytes_needed(layout.record_bytes) + std::max(while_filled, while_written);
}

NpyRows::NpyRows(const Options& options, memory::Ledger& ledger)
    : options_(options),
      ledger_(ledger),
      layout_(lay_out(options)),
      record_(ledger, kTag, layout_.record_bytes),
      spill_(ledger, {.temp = {.folder = folder_of(options.path),
                               .release_early = io::TempFile::can_release(folder_of(options.path))},
                      .buckets = layout_.buckets,
                      .record_bytes = layout_.record_bytes,
                      .chunk_bytes = layout_.chunk_bytes}) {
  check_disk();
}

// Needs space for both files, unless the temporary file can release its space while the other
// grows.
void NpyRows::check_disk() const {
  const fs::path folder = folder_of(options_.path);
  const uint64_t bytes = npy_bytes(options_.type, shape_of(options_));
  const uint64_t aside = options_.rows * layout_.record_bytes;
  const bool gives_back = io::TempFile::can_release(folder);
  const uint64_t needed =
      gives_back ? aside + layout_.bucket_rows * layout_.row_bytes : aside + bytes;
  const uint64_t free_bytes = io::disk_of(folder).free_bytes;
  if (free_bytes >= needed) return;
  fail(ErrorKind::disk, "{} takes {}, and {} in all while it is being sorted; {} has {} free",
       options_.path.string(), format_bytes(bytes), format_bytes(needed), folder.string(),
       format_bytes(free_bytes));
}

void NpyRows::put(uint64_t row, std::span<const std::byte> values) {
  std::memcpy(record_.data(), &row, sizeof row);
  std::memcpy(record_.data() + sizeof row, values.data(), layout_.row_bytes);
  spill_.append(row / layout_.bucket_rows, record_.first(layout_.record_bytes));
}

void NpyRows::finish() {
  spill_.seal();
  io::PartialFile file(options_.path);
  const std::string header = npy_header(options_.type, shape_of(options_));
  file.append(std::as_bytes(std::span(header)));
  const uint64_t bucket_rows = std::min(layout_.bucket_rows, options_.rows);
  const memory::Buffer<std::byte> rows(ledger_, kTag, bucket_rows * layout_.row_bytes);
  const memory::Buffer<std::byte> chunk(ledger_, kTag, layout_.chunk_bytes);
  for (uint64_t bucket = 0; bucket < layout_.buckets; ++bucket) {
    const uint64_t first = bucket * layout_.bucket_rows;
    const uint64_t count = std::min(layout_.bucket_rows, options_.rows - first);
    if (spill_.bytes(bucket) != count * layout_.record_bytes) {
      fail(ErrorKind::internal, "rows {} to {} of {} were not all given", first, first + count,
           options_.path.string());
    }
    spill_.drain(bucket, chunk.span(), [&](std::span<const std::byte> records) {
      for (; !records.empty(); records = records.subspan(layout_.record_bytes)) {
        uint64_t row = 0;
        std::memcpy(&row, records.data(), sizeof row);
        std::memcpy(rows.data() + (row - first) * layout_.row_bytes, records.data() + sizeof row,
                    layout_.row_bytes);
      }
    });
    file.append(rows.first(count * layout_.row_bytes));
    throw_if_interrupted();
  }
  file.commit();
}

}  // namespace plimsoll::formats
