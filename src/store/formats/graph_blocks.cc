#include "formats/graph_blocks.h"

#include <algorithm>

#include "base/error.h"
#include "io/file.h"

namespace plimsoll::formats {

EdgesInOrder::EdgesInOrder(ingest::InputGraph& source, memory::Ledger& ledger)
    : source_(source), blocks_(make_block(ledger), make_block(ledger), [this](Block& block) {
        return fill(block);
      }) {}

EdgesInOrder::Block EdgesInOrder::make_block(memory::Ledger& ledger) {
  return {{ledger, "edge blocks", kBlockEdges}, {ledger, "edge blocks", kBlockEdges}, 0};
}

bool EdgesInOrder::fill(Block& block) {
  block.count = 0;
  size_t taken = 0;
  do {
    taken = source_.next_edges(block.sources.span().subspan(block.count),
                               block.destinations.span().subspan(block.count));
    block.count += taken;
  } while (taken > 0 && block.count < kBlockEdges);
  done_ += block.count;
  const uint64_t total = source_.shape().edges;
  const bool ended = taken == 0;
  if (ended ? done_ != total : done_ > total) {
    fail(ErrorKind::internal, "the shape says {} edges, but the graph gave {} {}", total, done_,
         ended ? "in all" : "or more");
  }
  return block.count > 0;
}

EdgesInOrder::Edges EdgesInOrder::next() {
  const Block* block = blocks_.take();
  if (block == nullptr) return {};
  return {block->sources.first(block->count), block->destinations.first(block->count)};
}

RowsInOrder::RowsInOrder(ingest::InputGraph& source, memory::Ledger& ledger)
    : source_(source),
      blocks_(make_block(source.shape().feature_columns, ledger),
              make_block(source.shape().feature_columns, ledger),
              [this](Block& block) { return fill(block); }) {}

RowsInOrder::Block RowsInOrder::make_block(uint64_t columns, memory::Ledger& ledger) {
  const uint64_t rows = std::max<uint64_t>(1, io::kStreamBytes / (columns * sizeof(float)));
  return {{ledger, "feature blocks", rows * columns}, 0};
}

bool RowsInOrder::fill(Block& block) {
  block.filled = 0;
  while (block.filled < block.values.size()) {
    const ingest::InputGraph::Rows rows =
        source_.next_rows(block.values.span().subspan(block.filled));
    const uint64_t left = source_.shape().nodes - done_;
    if (rows.count == 0 ? left > 0 : rows.first_node != done_ || rows.count > left) {
      fail(ErrorKind::internal, "of {} feature rows, row {} was expected, but {} rows from {} came",
           source_.shape().nodes, done_, rows.count, rows.first_node);
    }
    if (rows.count == 0) break;
    done_ += rows.count;
    block.filled += rows.count * source_.shape().feature_columns;
  }
  return block.filled > 0;
}

std::span<const float> RowsInOrder::next() {
  const Block* block = blocks_.take();
  if (block == nullptr) return {};
  return block->values.first(block->filled);
}

SpoolFile::SpoolFile(memory::Ledger& ledger, const std::filesystem::path& folder)
    : file_({.folder = folder}), block_(ledger, "file buffers", kBlockValues) {}

void SpoolFile::append(std::span<const uint32_t> values) {
  while (!values.empty()) {
    const size_t take = std::min<size_t>(values.size(), kBlockValues - filled_);
    std::copy_n(values.begin(), take, block_.begin() + filled_);
    values = values.subspan(take);
    filled_ += take;
    if (filled_ == kBlockValues) write_block();
  }
}

// Also writes the last block whole, with unused values at its end: the file takes whole disk
// blocks.
void SpoolFile::write_block() {
  file_.write(std::as_bytes(block_.span()), position_ * sizeof(uint32_t));
  position_ += filled_;
  filled_ = 0;
}

void SpoolFile::rewind() {
  if (filled_ > 0) write_block();
  count_ = position_;
  position_ = 0;
}

std::span<const uint32_t> SpoolFile::next() {
  position_ += filled_;
  filled_ = std::min<uint64_t>(kBlockValues, count_ - position_);
  if (filled_ > 0) {
    file_.read(std::as_writable_bytes(block_.span()), position_ * sizeof(uint32_t));
  }
  return block_.first(filled_);
}

}  // namespace plimsoll::formats
