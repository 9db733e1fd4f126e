// One thread's access to rows. A node's row is either resident (in memory, before the file's line)
// or read into an area that follows the file's address space. Both are reached from one base
// address with one index, the row's place, so the loops over rows do not have to know about lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "feature/row_source.h"
#include "io/random_read.h"
#include "kernel/kernels.h"
#include "memory/growing.h"

namespace plimsoll::feature {

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
