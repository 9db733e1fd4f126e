// One .npy file of rows that come in any order, in bounded memory: rows go to the bucket of their
// number in a temporary file, and from there a bucket at a time to their places.
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
    std::filesystem::path path;  // the temporary file lies beside it, without a name
    NpyType type = NpyType::float32;
    uint64_t rows = 0;
    uint64_t columns = 0;  // 0: the array has one dimension
  };
  // Error{disk} where there is no space for both files.
  NpyRows(const Options& options, memory::Ledger& ledger);

  // The most that it takes, before finish() and in it.
  static uint64_t bytes_needed(const Options& options);

  // Every row once. `values` are the row's.
  void put(uint64_t row, std::span<const std::byte> values);
  // Writes the file, which appears whole or not at all.
  void finish();

 private:
  // Rows of a bucket, and what a bucket is put aside in.
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
