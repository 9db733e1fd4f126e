// What a run reads from a store: lists, rows and splits. Lists and rows are in memory up to the
// lines of the arrangement; a RoomKeeper moves the lines when the machine's memory gets short.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/parallel.h"
#include "batch/seeds.h"
#include "feature/rows.h"
#include "graph/store.h"
#include "io/lined_file.h"
#include "memory/ledger.h"
#include "memory/pressure.h"
#include "plan/arrangement.h"
#include "sample/topology.h"
#include "train/job.h"
#include "train/shared_line.h"

namespace plimsoll::train {

struct Data {
  sample::Topology topology;
  feature::RowSource rows;
  batch::Splits splits;
  // They lower the lines when something else needs the memory: features first.
  std::vector<memory::Ledger::Reclaimer> reclaimers = {};
  uint64_t shared_bytes = 0;  // of the lines, if ranks of this host share one copy of them
  std::unique_ptr<SharedLine> shared_line = nullptr;  // that of the features, if it is shared

  // Throws Error{store} if a file that is partly read from disk has changed.
  void check_unchanged() const;
};

// If several ranks of `group` are on this host, the first of them loads the lines, and the others
// map its memory. Of such lines only that of the features moves.
Data load_data(const graph::Store& store, const plan::Arrangement& arrangement,
               const Execution& run, memory::Ledger& ledger, ranks::Group* group = nullptr);

// Releases memory during a run when the rest of the machine needs it, and takes it again later.
// Reasons are another process, a lowered memory.high, or stalls. If ranks of a host share the
// lines, the keeper of the first one decides for all of them.
class RoomKeeper {
 public:
  // The references must outlive it. `rows` is the file whose line goes up again, and `shared` its
  // line, if it is shared. The ledger keeps at least `needed_bytes`, what the run needs without its
  // lines, even if less is leased at the moment when memory is short.
  RoomKeeper(memory::Ledger& ledger, io::LinedFile& rows, uint64_t needed_bytes,
             SharedLine* shared = nullptr);

  // Called by the watch. A negative number of bytes must be released; a positive one may be taken.
  void adjust(int64_t room_bytes);
  // Rethrows the exception that ended the watch, if any.
  void rethrow_failure() const;

  uint64_t given_back_bytes() const { return given_back_bytes_; }  // the maximum so far

 private:
  void adjust_shared(int64_t room_bytes);
  void follow();

  memory::Ledger& ledger_;
  io::LinedFile& rows_;
  SharedLine* const shared_;
  const uint64_t planned_limit_bytes_;
  const uint64_t planned_line_bytes_;
  const uint64_t needed_bytes_;
  uint64_t most_used_bytes_ = 0;  // the most that was leased when memory got short
  std::atomic<uint64_t> given_back_bytes_ = 0;
  // One of them. Declared last: they use all of the above.
  std::optional<memory::PressureWatch> watch_;
  std::optional<Ticker> follower_;
};

}  // namespace plimsoll::train
