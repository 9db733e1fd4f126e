// Writes one .npy file from rows that arrive in any order, in bounded memory: rows are distributed
// to buckets in a temporary file by their number, and then written bucket by bucket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "formats/npz_writer.h"
#include "ingest/spill.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::formats {

// For one thread.
class NpyRows {
 public:
  struct Options {
    std::filesystem::path path;  // the temporary file is in the same folder and has no name
    NpyType type = NpyType::float32;
    uint64_t rows = 0;
    uint64_t columns = 0;  // 0: the array has one dimension
  };
  // Throws Error{disk} if there is not enough space for both files.
  NpyRows(const Options& options, memory::Ledger& ledger);

  // The peak memory until finish() returns.
  static uint64_t bytes_needed(const Options& options);

  // Must be called exactly once for every row.
  void put(uint64_t row, std::span<const std::byte> values);
  // Writes the file, which appears under its name only when it is complete.
  void finish();

 private:
  struct Layout {
    uint64_t row_bytes = 0;
    uint64_t record_bytes = 0;
    uint64_t chunk_bytes = 0;
    uint64_t bucket_rows = 0;
    uint64_t buckets = 0;
  };
  static Layout lay_out(const Options& options);
  void check_disk() const;

  const Options options_;
  memory::Ledger& ledger_;
  const Layout layout_;
  memory::Buffer<std::byte> record_;
  ingest::Spill spill_;
};

}  // namespace plimsoll::formats
