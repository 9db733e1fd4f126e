// What a run reads from a store: lists, rows and splits. Lists and rows are in memory up to the
// lines of the arrangement, which room_keeper.h moves when the machine's memory gets short.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "batch/seeds.h"
#include "feature/rows.h"
#include "graph/store.h"
#include "memory/ledger.h"
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

}  // namespace plimsoll::train
