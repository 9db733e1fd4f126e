// Rows of values, one for every node of a graph or of a set of nodes: a store's features, or the
// output of a layer. They are in a file with a line (io/lined_file.h): rows before the line are
// resident in memory, the others are read from disk when they are needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "graph/store.h"
#include "io/lined_file.h"
#include "io/random_read.h"
#include "kernel/kernels.h"
#include "memory/growing.h"
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

// One thread's access to rows. A node's row is either resident (in memory, before the file's line)
// or read into an area that follows the file's address space. Both are reached from one base
// address with one index, the row's place, so the loops over rows do not have to know about lines.
class RowReader {
 public:
  // The source must outlive it. The area is leased by prepare().
  RowReader(const RowSource& source, memory::Ledger& ledger);

  // The memory it takes to read `count` rows of `row_bytes` through an area of `area_bytes`.
  static uint64_t bytes_needed(uint64_t count, uint64_t row_bytes, uint64_t area_bytes);

  // How many rows read from disk the area can hold; 0 before prepare().
  uint64_t room_rows() const { return room_rows_; }

  // While it lives, resident rows stay in memory. As with LinedFile::Use, the thread must not take
  // leases meanwhile; call prepare() before.
  class Access {
   public:
    explicit Access(const RowReader& reader);
    // The base of all rows; places are indices into it.
    const kernel::Rows& rows() const { return rows_; }
    // Whether the place of every row is its node's number.
    bool all_in_place() const { return all_in_place_; }
    bool all_resident() const { return resident_rows_ >= rows_.count; }
    uint64_t resident_rows() const { return resident_rows_; }

   private:
    io::LinedFile::Use use_;
    kernel::Rows rows_;
    uint64_t resident_rows_;
    bool all_in_place_;
  };

  // Whether all rows are resident, so that prepare() and read() are not needed.
  bool all_resident() const { return source_.file().resident(); }
  // Leases the area, and memory for `count` calls of want().
  void prepare(uint64_t count);
  uint64_t prepared() const { return base_ == nullptr ? 0 : wants_.capacity(); }
  // Releases the area and all other memory.
  void release();

  // Requests the node's row; read() will write its place to *place. At most prepared() calls before
  // a read().
  void want(uint32_t node, uint32_t* place) {
    wants_[count_++] = {static_cast<uint32_t>(source_.row_of(node)), place};
  }
  uint64_t wanted() const { return count_; }
  // Reads every requested row once, at most room_rows() different rows, and clears the requests.
  // The rows stay in the area until the next read().
  void read(io::ReadQueue& queue);

 private:
  struct Want {
    uint32_t row;
    uint32_t* place;
  };

  const RowSource& source_;
  memory::Ledger& ledger_;
  std::optional<io::LinedFile::Area> area_;
  std::byte* base_ = nullptr;  // of all rows; null while there is no area
  uint64_t area_begin_ = 0;    // offset from the base where the first piece may be
  uint64_t area_end_ = 0;
  uint64_t room_rows_ = 0;
  uint64_t step_ = 1;  // a piece's offset in memory and in the file must be equal modulo this
  memory::Growing<Want> wants_;
  uint64_t count_ = 0;
  memory::Buffer<io::Piece> pieces_;
};

}  // namespace plimsoll::feature
