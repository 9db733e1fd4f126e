// One thread's access to rows. A node's row is either resident or read into an area behind the
// file's address space; either way one index reaches it from one base, so the loops over rows know
// nothing of lines.
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
  // The source must outlive it. An area to read into is leased when it is first needed.
  RowReader(const RowSource& source, memory::Ledger& ledger);

  // What it holds to read `count` rows of `row_bytes` through an area of `area_bytes`.
  static uint64_t bytes_needed(uint64_t count, uint64_t row_bytes, uint64_t area_bytes);

  // How many rows from below the line can be held at once; none before prepare().
  uint64_t room_rows() const { return room_rows_; }

  // Rows stay where they are while it lives. As with LinedFile::Use: no leases meanwhile, except
  // through prepare() before.
  class Access {
   public:
    explicit Access(const RowReader& reader);
    // With this as base and a place as index.
    const kernel::Rows& rows() const { return rows_; }
    // Whether every row is at the place of its node's number.
    bool all_in_place() const { return all_in_place_; }
    bool all_resident() const { return resident_rows_ >= rows_.count; }
    uint64_t resident_rows() const { return resident_rows_; }
    // The node's place, if it is resident.
    std::optional<uint32_t> place(uint32_t node) const {
      const uint64_t row = set_ == nullptr ? node : set_->rank(node);
      if (row < resident_rows_) return static_cast<uint32_t>(row);
      return {};
    }

   private:
    io::LinedFile::Use use_;
    kernel::Rows rows_;
    const NodeSet* set_;
    uint64_t resident_rows_;
    bool all_in_place_;
  };

  // Whether there is nothing to read, and nothing to prepare for it.
  bool all_resident() const { return source_.file().resident(); }
  // Leases the area, and room to remember `count` wanted rows.
  void prepare(uint64_t count);
  uint64_t prepared() const { return base_ == nullptr ? 0 : wants_.capacity(); }
  // Gives the area and all other memory back.
  void release();

  // Remembers that *place shall be where the node's row is, once read. At most prepared().
  void want(uint32_t node, uint32_t* place) {
    wants_[count_++] = {static_cast<uint32_t>(row_of(node)), place};
  }
  uint64_t wanted() const { return count_; }
  // Reads every wanted row once; they are there until the next call. At most room_rows() different
  // ones. Then nothing is wanted any more.
  void read(io::ReadQueue& queue);

  // Room of the area for rows that come in one piece from elsewhere: whole blocks of memory, and
  // the place of the first row. Nothing where it is too small. What was read before is gone.
  struct Stretch {
    uint32_t place = 0;
    std::span<std::byte> memory;
  };
  std::optional<Stretch> stretch(uint64_t bytes) const;

 private:
  struct Want {
    uint32_t row;
    uint32_t* place;
  };
  uint64_t row_of(uint32_t node) const {
    return source_.set() == nullptr ? node : source_.set()->rank(node);
  }

  const RowSource& source_;
  memory::Ledger& ledger_;
  std::optional<io::LinedFile::Area> area_;
  std::byte* base_ = nullptr;  // of all rows; null until there is an area
  uint64_t area_begin_ = 0;    // from the base, where the first piece may go
  uint64_t area_end_ = 0;
  uint64_t room_rows_ = 0;
  uint64_t step_ = 1;  // pieces of a file must come to lie at their own offset modulo this
  memory::Growing<Want> wants_;
  uint64_t count_ = 0;
  memory::Buffer<io::Piece> pieces_;
};

}  // namespace plimsoll::feature
