// Fills the inputs of prepared batches with rows: those in memory, those that the batch's window
// has read, and the rest from disk. If more rows are read from disk than fit into the area, the
// batch is filled in rounds. This is slower, but gives the same bits.
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
#include "batch/window.h"
#include "feature/rows.h"
#include "io/random_read.h"
#include "memory/ledger.h"

namespace plimsoll::batch {

// For one thread.
class Gatherer {
 public:
  // `queue` is called when something must be read.
  Gatherer(const feature::RowSource& source, std::function<io::ReadQueue&()> queue,
           memory::Ledger& ledger)
      : source_(source),
        reader_(source, ledger),
        queue_(std::move(queue)),
        asked_(ledger, "reading") {}

  // The memory it takes to gather `nodes` rows of `row_bytes` through an area of `area_bytes`.
  static uint64_t bytes_needed(uint64_t nodes, uint64_t row_bytes, uint64_t area_bytes);

  // `window` may be null, and need not hold all rows.
  void gather(Assembler& assembler, const Window* window = nullptr);

  // Releases the memory that it keeps for the next batch.
  void release() {
    reader_.release();
    asked_.release();
  }

  // Totals since the start.
  struct Counts {
    uint64_t rows = 0;       // rows that batches needed
    uint64_t from_disk = 0;  // of these, read from disk by their window or for the batch alone
  };
  const Counts& counts() const { return counts_; }

 private:
  using Access = feature::RowReader::Access;
  enum class Filled { yes, needs_leases, line_went_down };
  struct Marked {
    uint64_t in_window = 0;
    uint64_t on_disk = 0;
  };

  Filled try_gather(Assembler& assembler, const Window* window);
  static bool has_places(Assembler& assembler);
  bool prepared_for(Assembler& assembler) const;
  Marked mark(const Access& access, Assembler& assembler, const Window* window) const;
  void want_rows(Assembler& assembler);
  void lease_for(Assembler& assembler, const Window* window);
  // Reads the requested rows; gives up `access` meanwhile. This and the following functions return
  // false if the line went down.
  bool read(std::optional<Access>& access);
  bool fill_in_rounds(std::optional<Access>& access, Assembler& assembler);
  bool fill_rows_in_rounds(std::optional<Access>& access, Assembler& assembler,
                           void (Assembler::*fill)(const kernel::Rows&, const uint32_t*,
                                                   const Assembler::Part&));
  bool fill_sums_in_rounds(std::optional<Access>& access, Assembler& assembler);

  const feature::RowSource& source_;
  feature::RowReader reader_;
  std::function<io::ReadQueue&()> queue_;
  memory::Growing<uint32_t> asked_;  // the rows requested in a round, as indices in the batch
  bool needs_area_ = false;          // a batch had rows that no window has read
  Counts counts_;
};

}  // namespace plimsoll::batch
