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
#include "plan/arrangement.h"

namespace plimsoll::train {

class HiddenRows {
 public:
  // Rows of `columns` floats for the nodes of `set`, which must outlive this.
  HiddenRows(const feature::NodeSet& set, uint32_t columns, const std::filesystem::path& folder,
             memory::Ledger& ledger);

  // The next rows, in the order of their nodes.
  void append(const float* rows, uint64_t count);
  // All of them are there. Valid as long as this lives.
  const feature::RowSource& finish(const plan::Arrangement& arrangement, unsigned threads);

 private:
  void write_block();

  memory::Ledger& ledger_;
  const feature::NodeSet& set_;
  feature::RowShape shape_;
  memory::Buffer<std::byte> resident_;
  std::optional<io::TempFile> file_;
  memory::Buffer<std::byte> block_;
  uint64_t filled_bytes_ = 0;   // of the block, or of what is resident
  uint64_t written_bytes_ = 0;  // of the file
  std::optional<feature::RowSource> source_;
  memory::Ledger::Reclaimer reclaimer_;  // of what is above the line
};

}  // namespace plimsoll::train
