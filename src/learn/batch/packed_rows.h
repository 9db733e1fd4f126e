// Rows from disk, put aside batch by batch in the order in which the batch wants them: where the
// same batches are drawn again, one long read brings what took a read for every row. A file without
// a name, which goes with its owner.
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

constexpr uint64_t kPackingBytes = uint64_t{256} << 10;  // for a thread that puts rows aside

// Several threads may use it at once, for different batches.
class PackedRows {
 public:
  struct Options {
    std::filesystem::path folder;
    uint64_t batches = 0;
    uint64_t row_bytes = 0;
  };
  // Takes at most half of what is free on the disk; batches beyond that are not put aside.
  PackedRows(const Options& options, memory::Ledger& ledger);

  // Batches of this drawing come next; what belongs to another one is gone.
  void begin(uint64_t drawing);

  // Rows are found only by who wants as many as were put, below the same line.
  struct Want {
    uint64_t batch = 0;
    uint64_t rows = 0;
    uint64_t resident_rows = 0;
  };
  bool has(const Want& want) const;
  // What they take, in memory as well as on disk.
  uint64_t bytes_of(const Want& want) const;
  // Into whole blocks (io::kBlockBytes) of memory.
  void read(const Want& want, std::span<std::byte> to) const;
  // Writes through `stage`, whole blocks of memory, too. What a disk does not take is not put
  // aside.
  void put(const Want& want, const std::function<const std::byte*(uint64_t i)>& row,
           std::span<std::byte> stage);

  // Memory that it takes for its table.
  static uint64_t table_bytes(uint64_t batches) { return batches * sizeof(Block); }

 private:
  struct Block {
    uint64_t offset;
    uint64_t rows;  // 0: none
    uint64_t resident_rows;
  };
  // False where there is no room.
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
