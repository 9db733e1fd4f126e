// A cache on disk for rows: stores the rows of each batch one after the other. If the same batches
// are used again in a later epoch, one long read replaces one read per row. The file has no name
// and disappears with its owner.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <span>

#include "io/temp_file.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::batch {

constexpr uint64_t kPackingBytes = uint64_t{256} << 10;  // memory of a thread that stores rows

// Several threads may use it at the same time, for different batches.
class PackedRows {
 public:
  struct Options {
    std::filesystem::path folder;
    uint64_t batches = 0;
    uint64_t row_bytes = 0;
  };
  // Uses at most half of the disk's free space; batches beyond that are not stored.
  PackedRows(const Options& options, memory::Ledger& ledger);

  // A drawing is one sampling of all batches. Call before a pass; forgets the rows of any other
  // drawing.
  void begin(uint64_t drawing);

  // Names the rows of a batch that are not resident. Stored rows are found only if as many rows are
  // wanted and as many are resident as when they were stored.
  struct Want {
    uint64_t batch = 0;
    uint64_t rows = 0;
    uint64_t resident_rows = 0;
  };
  bool has(const Want& want) const;
  // The size of the rows, in memory and on disk.
  uint64_t bytes_of(const Want& want) const;
  // `to` is block-aligned memory (io::kBlockBytes).
  void read(const Want& want, std::span<std::byte> to) const;
  // Writes through `stage`, which is block-aligned memory, too. If the disk refuses a write, the
  // rows are not stored.
  void put(const Want& want, const std::function<const std::byte*(uint64_t i)>& row,
           std::span<std::byte> stage);

  // The memory for its table.
  static uint64_t table_bytes(uint64_t batches) { return batches * sizeof(Block); }

 private:
  struct Block {
    uint64_t offset;
    uint64_t rows;  // 0: not stored
    uint64_t resident_rows;
  };
  // False if there is no space.
  bool reserve(uint64_t bytes, uint64_t& offset);

  const uint64_t row_bytes_;
  const uint64_t most_bytes_;
  io::TempFile file_;
  mutable std::mutex mutex_;  // guards what follows
  memory::Buffer<Block> blocks_;
  uint64_t drawing_ = 0;
  uint64_t end_bytes_ = 0;
  bool broken_ = false;  // the disk refused a write
};

}  // namespace plimsoll::batch
