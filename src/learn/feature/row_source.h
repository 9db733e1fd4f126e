// Rows of values, one for every node of a graph or of a set of them, in a file with a line across
// it: a store's features, or what a layer made of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "feature/node_set.h"
#include "graph/store.h"
#include "io/lined_file.h"
#include "kernel/kernels.h"
#include "memory/ledger.h"

namespace plimsoll::feature {

// `data` is ignored in what describes rows of a file.
using RowShape = kernel::Rows;

class RowSource {
 public:
  // Resident rows of somebody else. `set`, where there is one, must outlive this.
  explicit RowSource(const kernel::Rows& rows, const NodeSet* set = nullptr);
  // A file, behind which that many RowReaders may have an area at a time for rows from below the
  // line; `area_bytes` of each, or as much as one row needs.
  struct File {
    std::filesystem::path path;
    RowShape shape;
    unsigned areas = 0;
    uint64_t area_bytes = 0;
    const NodeSet* set = nullptr;
    std::string_view tag = "features";
  };
  RowSource(const File& file, memory::Ledger& ledger);

  const RowShape& shape() const { return shape_; }
  const NodeSet* set() const { return set_; }
  io::LinedFile& file() const { return *file_; }

  // What an area has at least: room for one row.
  static uint64_t least_area_bytes(const RowShape& shape);

 private:
  RowShape shape_;
  const NodeSet* set_ = nullptr;
  std::unique_ptr<io::LinedFile> file_;
};

// A store's features, with the line where it is told.
struct RowLayout {
  uint64_t line_bytes = UINT64_MAX;
  unsigned areas = 0;
  uint64_t area_bytes = 0;
};
RowSource load_rows(const graph::Store& store, memory::Ledger& ledger, const RowLayout& layout,
                    unsigned threads, const std::function<void(uint64_t bytes)>& on_bytes);

}  // namespace plimsoll::feature
