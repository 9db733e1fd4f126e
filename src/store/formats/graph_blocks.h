// An InputGraph in order, in blocks, for the one thread that writes it to files. While the caller
// writes one block, a thread makes the next, so making and writing overlap. A SpoolFile keeps
// values that are needed later than they arrive.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <span>
#include <utility>

#include "ingest/input_graph.h"
#include "io/temp_file.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::formats {

// Double buffering: the caller has one block while a thread fills the other.
template <typename Block>
class BlockAhead {
 public:
  // `fill` makes the next block and returns false if nothing was left.
  BlockAhead(Block first, Block second, std::function<bool(Block&)> fill)
      : current_(std::move(first)), next_(std::move(second)), fill_(std::move(fill)) {
    start();
  }
  BlockAhead(const BlockAhead&) = delete;
  BlockAhead& operator=(const BlockAhead&) = delete;

  // The next block, valid until the next call; nullptr at the end. Rethrows what `fill` threw.
  const Block* take() {
    if (!pending_.valid() || !pending_.get()) return nullptr;
    std::swap(current_, next_);
    start();
    return &current_;
  }

 private:
  void start() {
    pending_ = std::async(std::launch::async, [this] { return fill_(next_); });
  }

  Block current_;
  Block next_;
  std::function<bool(Block&)> fill_;
  std::future<bool> pending_;  // declared last: its destructor runs first and waits for the thread
};

// Both throw Error{internal} if the InputGraph gives more or less than its shape says.
class EdgesInOrder {
 public:
  static constexpr uint64_t kBlockEdges = 256 * 1024;

  EdgesInOrder(ingest::InputGraph& source, memory::Ledger& ledger);

  struct Edges {
    std::span<const uint32_t> sources;
    std::span<const uint32_t> destinations;
  };
  Edges next();  // empty at the end

 private:
  struct Block {
    memory::Buffer<uint32_t> sources;
    memory::Buffer<uint32_t> destinations;
    uint64_t count = 0;
  };
  static Block make_block(memory::Ledger& ledger);
  bool fill(Block& block);

  ingest::InputGraph& source_;
  uint64_t done_ = 0;         // edges taken; used only by the filling thread
  BlockAhead<Block> blocks_;  // declared last: it starts filling at once
};

class RowsInOrder {
 public:
  RowsInOrder(ingest::InputGraph& source, memory::Ledger& ledger);

  std::span<const float> next();  // whole rows; empty at the end

 private:
  struct Block {
    memory::Buffer<float> values;  // a whole number of rows
    uint64_t filled = 0;           // in values, not rows
  };
  static Block make_block(uint64_t columns, memory::Ledger& ledger);
  bool fill(Block& block);

  ingest::InputGraph& source_;
  uint64_t done_ = 0;         // rows taken; used only by the filling thread
  BlockAhead<Block> blocks_;  // declared last: it starts filling at once
};

// A temporary file, written in order, then read in order. The file has no name: the kernel removes
// it when its owner ends, even if it is killed.
class SpoolFile {
 public:
  static constexpr uint64_t kBlockValues = io::kStreamBytes / sizeof(uint32_t);

  SpoolFile(memory::Ledger& ledger, const std::filesystem::path& folder);

  void append(std::span<const uint32_t> values);

  // Ends writing; next() starts at the first value.
  void rewind();

  // The next values, at most kBlockValues, valid until the next call; empty at the end.
  std::span<const uint32_t> next();

 private:
  void write_block();

  io::TempFile file_;
  memory::Buffer<uint32_t> block_;  // being filled; after rewind() the block last read
  uint64_t filled_ = 0;             // values in the block
  uint64_t position_ = 0;           // values before the block
  uint64_t count_ = 0;              // all values; set by rewind()
};

}  // namespace plimsoll::formats
