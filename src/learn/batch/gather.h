// Fills the inputs of prepared batches with rows from memory or disk.
//
// A worker gathers a window of batches together: rows that several of them need are read once. If a
// window needs more rows from disk than fit into the area, its batches are filled one by one; a
// batch that is still too large is filled in rounds. This is slower, but gives the same bits.
//
// While the disk reads, the line of the file may go down, so that code that needs memory does not
// wait for a slow disk. If rows that were resident are gone after a read, the gathering starts
// again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "batch/assemble.h"
#include "batch/packed_rows.h"
#include "feature/row_reader.h"
#include "feature/row_source.h"
#include "io/random_read.h"
#include "memory/ledger.h"

namespace plimsoll::batch {

// For one thread.
class Gatherer {
 public:
  // `queue` is called when something must be read.
  Gatherer(const feature::RowSource& source, std::function<io::ReadQueue&()> queue,
           memory::Ledger& ledger)
      : reader_(source, ledger),
        queue_(std::move(queue)),
        ledger_(ledger),
        asked_(ledger, "reading") {}

  // The memory it takes to gather `nodes` rows of `row_bytes` through an area of `area_bytes`.
  static uint64_t bytes_needed(uint64_t nodes, uint64_t row_bytes, uint64_t area_bytes,
                               bool packing);

  // With `packed`, the rows read for a whole batch are stored there, and rows stored in an earlier
  // pass are read from there.
  void gather(std::span<Assembler* const> window, PackedRows* packed = nullptr);

  // Releases the memory that it keeps for the next batch.
  void release() {
    reader_.release();
    asked_.release();
    stage_ = {};
  }

  // Totals since the start.
  struct Counts {
    uint64_t rows = 0;       // rows that batches needed
    uint64_t from_disk = 0;  // of these, read from disk
    uint64_t packed = 0;     // of those from disk, read from PackedRows
  };
  const Counts& counts() const { return counts_; }

 private:
  using Access = feature::RowReader::Access;
  enum class Filled { yes, needs_leases, needs_room, line_went_down };

  Filled try_gather(std::span<Assembler* const> window);
  bool prepared_for(std::span<Assembler* const> window, const Access& access) const;
  void want_rows(Assembler& assembler);
  Filled fill_packed(std::optional<Access>& access, Assembler& assembler,
                     const PackedRows::Want& want);
  void lease_for(std::span<Assembler* const> window);
  // Reads the requested rows; gives up `access` meanwhile. This and the following functions return
  // false if the line went down.
  bool read(std::optional<Access>& access);
  bool fill_in_rounds(std::optional<Access>& access, Assembler& assembler);
  bool fill_rows_in_rounds(std::optional<Access>& access, Assembler& assembler,
                           void (Assembler::*fill)(const kernel::Rows&, const uint32_t*,
                                                   const Assembler::Part&));
  bool fill_sums_in_rounds(std::optional<Access>& access, Assembler& assembler);

  feature::RowReader reader_;
  std::function<io::ReadQueue&()> queue_;
  memory::Ledger& ledger_;
  PackedRows* packed_ = nullptr;
  memory::Buffer<std::byte> stage_;  // for writing to PackedRows
  memory::Growing<uint32_t> asked_;  // the rows requested in a round, as indices in the batch
  Counts counts_;
};

}  // namespace plimsoll::batch
