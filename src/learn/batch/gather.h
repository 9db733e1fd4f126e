// Fills the inputs of prepared batches with rows, wherever those are.
//
// Rows that several batches of a window need are read once. Where the batches need more rows from
// disk than there is room for, they are filled one by one, and one that is still too large in
// rounds: slower, with the same bits, whatever the room.
//
// While the disk reads, nothing keeps the line from going down: who needs memory need not wait for
// a slow disk. What was counted on above the line may be gone then, and the gathering begins again.
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
  // `queue` is asked for when something must be read.
  Gatherer(const feature::RowSource& source, std::function<io::ReadQueue&()> queue,
           memory::Ledger& ledger)
      : reader_(source, ledger),
        queue_(std::move(queue)),
        ledger_(ledger),
        asked_(ledger, "reading") {}

  // What it holds to fill `nodes` rows of `row_bytes` from disk through an area of `area_bytes`.
  static uint64_t bytes_needed(uint64_t nodes, uint64_t row_bytes, uint64_t area_bytes,
                               bool packing);

  // `packed` is where whole batches put the rows that they read, and find those of an earlier pass;
  // null: nowhere.
  void gather(std::span<Assembler* const> window, PackedRows* packed = nullptr);

  // Gives back the memory that it keeps for the next batch.
  void release() {
    reader_.release();
    asked_.release();
    stage_ = {};
  }

  // Rows that were needed, and those of them that were not resident, since the start.
  struct Counts {
    uint64_t rows = 0;
    uint64_t from_disk = 0;
    uint64_t packed = 0;  // of those from disk
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
  // Reads what is wanted, without the access meanwhile. These return false where the line went
  // down.
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
  memory::Buffer<std::byte> stage_;  // of what is packed
  memory::Growing<uint32_t> asked_;  // in a round, by their number in the batch
  Counts counts_;
};

}  // namespace plimsoll::batch
