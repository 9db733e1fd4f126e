// Evaluation with all neighbours goes layer by layer, so that no node's value is computed twice:
// the nodes whose values each layer must compute, and the place for these values until the next
// layer reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "batch/seeds.h"
#include "feature/rows.h"
#include "io/temp_file.h"
#include "memory/buffer.h"
#include "memory/index_set.h"
#include "memory/ledger.h"
#include "sample/topology.h"

namespace plimsoll::batch {

constexpr uint64_t kFullBatchNodes = 2048;  // seeds of one batch with all neighbours

// One set for each of `layers` layers, the first layer first. The last set has the asked nodes and
// their in-neighbours; each other set has the nodes of the next set and their in-neighbours.
std::vector<memory::IndexSet> needed_nodes(std::span<const Seeds> asked, size_t layers,
                                           const sample::Topology& topology,
                                           memory::Ledger& ledger);

// The memory of the sets, and what needed_nodes() takes in addition while it runs.
uint64_t node_sets_bytes(uint64_t nodes, size_t layers);
uint64_t marking_bytes(uint64_t edges, bool reads_disk);

// The output of one layer for some nodes, for the next layer to read. It is kept in memory if the
// ledger has enough to spare, else in a temporary file with a line (io/lined_file.h).
class HiddenRows {
 public:
  struct Options {
    uint32_t columns = 0;
    std::filesystem::path folder;
    uint64_t spare_bytes = 0;  // memory to leave for batches
  };
  // Rows of floats for the nodes of `set`, which must outlive this.
  HiddenRows(const memory::IndexSet& set, const Options& options, memory::Ledger& ledger);

  // The least memory it needs.
  static uint64_t least_bytes();

  // Adds the next rows, in the order of their nodes.
  void append(const float* rows, uint64_t count);
  // The threads that will read the rows. Each needs its own area if the rows are in a file.
  struct Readers {
    unsigned count = 1;
    uint64_t area_bytes = 0;
    unsigned windows = 0;  // as in feature::RowSource::File
    uint64_t window_bytes = 0;
  };
  // Call when all rows are appended. The result is valid as long as this lives.
  const feature::RowSource& finish(const Readers& readers);

 private:
  void write_block();

  uint64_t spare_bytes() const;

  memory::Ledger& ledger_;
  const memory::IndexSet& set_;
  const uint64_t batches_bytes_;
  feature::RowShape shape_;
  memory::Buffer<std::byte> resident_;
  std::optional<io::TempFile> file_;
  memory::Buffer<std::byte> block_;
  uint64_t filled_bytes_ = 0;   // of block_ or resident_
  uint64_t written_bytes_ = 0;  // of the file
  std::optional<feature::RowSource> source_;
  memory::Ledger::Reclaimer reclaimer_;  // lowers the line when memory is short
};

}  // namespace plimsoll::batch
