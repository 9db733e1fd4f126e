// What one layer made of some nodes, for the next layer to read: in memory where the ledger has the
// room to spare, else in a nameless file with a line across it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "feature/node_set.h"
#include "feature/row_source.h"
#include "io/temp_file.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::batch {

class HiddenRows {
 public:
  struct Options {
    uint32_t columns = 0;
    std::filesystem::path folder;
    uint64_t spare_bytes = 0;  // left to the batches that are made and read from these rows
  };
  // Rows of floats for the nodes of `set`, which must outlive this.
  HiddenRows(const feature::NodeSet& set, const Options& options, memory::Ledger& ledger);

  // What it cannot do without.
  static uint64_t least_bytes();

  // The next rows, in the order of their nodes.
  void append(const float* rows, uint64_t count);
  // Who reads them: so many threads, each through an area of its own where they are in a file.
  struct Readers {
    unsigned count = 1;
    uint64_t area_bytes = 0;
  };
  // All of them are there. Valid as long as this lives.
  const feature::RowSource& finish(const Readers& readers);

 private:
  void write_block();

  uint64_t spare_bytes() const;

  memory::Ledger& ledger_;
  const feature::NodeSet& set_;
  const uint64_t batches_bytes_;
  feature::RowShape shape_;
  memory::Buffer<std::byte> resident_;
  std::optional<io::TempFile> file_;
  memory::Buffer<std::byte> block_;
  uint64_t filled_bytes_ = 0;   // of the block, or of what is resident
  uint64_t written_bytes_ = 0;  // of the file
  std::optional<feature::RowSource> source_;
  memory::Ledger::Reclaimer reclaimer_;  // of what is above the line
};

}  // namespace plimsoll::batch
