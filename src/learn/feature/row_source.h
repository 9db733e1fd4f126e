// Rows of values, one for every node of a graph or of a set of nodes: a store's features, or the
// output of a layer. They are in a file with a line (io/lined_file.h): rows before the line are
// resident in memory, the others are read from disk when they are needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "graph/store.h"
#include "io/lined_file.h"
#include "kernel/kernels.h"
#include "memory/index_set.h"
#include "memory/ledger.h"

namespace plimsoll::feature {

// Describes the rows of a file; `data` is not used.
using RowShape = kernel::Rows;

class RowSource {
 public:
  // Rows in memory that the caller owns. The rows and `set` must outlive this.
  explicit RowSource(const kernel::Rows& rows, const memory::IndexSet* set = nullptr);
  struct File {
    std::filesystem::path path;
    RowShape shape;
    unsigned areas = 0;                     // how many RowReaders can have an area at the same time
    uint64_t area_bytes = 0;                // of each; raised to what one row needs
    unsigned windows = 0;                   // how many windows can be in memory (batch/window.h)
    uint64_t window_bytes = 0;              // of each, at most
    const memory::IndexSet* set = nullptr;  // the nodes that have rows; null: all nodes
    std::string_view tag = "features";
  };
  RowSource(const File& file, memory::Ledger& ledger);

  const RowShape& shape() const { return shape_; }
  const memory::IndexSet* set() const { return set_; }
  io::LinedFile& file() const { return *file_; }
  // The row of a node that has one.
  uint64_t row_of(uint32_t node) const { return set_ == nullptr ? node : set_->rank(node); }

  // The least size of an area: enough for one row.
  static uint64_t least_area_bytes(const RowShape& shape);

 private:
  RowShape shape_;
  const memory::IndexSet* set_ = nullptr;
  std::unique_ptr<io::LinedFile> file_;
};

// For a store's features. `line_bytes` is the position of the line, the others are as in
// RowSource::File.
struct RowLayout {
  uint64_t line_bytes = UINT64_MAX;
  unsigned areas = 0;
  uint64_t area_bytes = 0;
  unsigned windows = 0;
  uint64_t window_bytes = 0;
  bool shared = false;  // other processes will use the same memory: LinedFile::share
};
RowSource load_rows(const graph::Store& store, memory::Ledger& ledger, const RowLayout& layout,
                    unsigned threads, const std::function<void(uint64_t bytes)>& on_bytes);

}  // namespace plimsoll::feature
