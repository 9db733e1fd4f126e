// The rows of a store in slices, in the order of the file, to be summed (batch/neighbor_sums.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "graph/meta.h"
#include "io/random_read.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::batch {

// A file of a store that stays open: another one may take its name meanwhile.
struct StoreFile {
  explicit StoreFile(const std::filesystem::path& path);

  [[noreturn]] void refuse(const std::string& what) const;
  void load(uint64_t begin, std::span<std::byte> out) const;

  io::RowFile file;
  std::string opened;  // a path to it
  std::string name;
};

// Where slices come from.
struct SlicedRows {
  const graph::Meta& meta;
  const StoreFile& rows;
  const StoreFile* offsets = nullptr;  // for the weights; null: rows have none
  uint64_t most_rows = 0;              // of a slice: see rows_of_slices()
};

// Rows first <= i < first + count of the store, with the weights of their edges in GCN.
struct RowSlice {
  RowSlice(memory::Ledger& ledger, uint64_t rows, uint64_t row_bytes, bool weighted);
  static uint64_t bytes_needed(uint64_t rows, uint64_t row_bytes);
  void load(uint64_t first_row, const SlicedRows& from);

  memory::Buffer<std::byte> bytes;
  memory::Buffer<uint64_t> offsets;  // for the weights
  memory::Buffer<float> weights;
  uint64_t first = 0;
  uint64_t count = 0;
};

// How many rows of about so many bytes a slice has. Slices begin at whole blocks of both files.
uint64_t rows_of_slices(const graph::Meta& meta, uint64_t bytes);

}  // namespace plimsoll::batch
