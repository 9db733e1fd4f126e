// What a run reads from a store: lists, rows and splits. Lists and rows are in memory up to the
// lines of the arrangement.
#pragma once

#include <vector>

#include "batch/seeds.h"
#include "feature/row_source.h"
#include "graph/store.h"
#include "memory/ledger.h"
#include "plan/arrangement.h"
#include "sample/topology.h"
#include "train/job.h"

namespace plimsoll::train {

struct Data {
  sample::Topology topology;
  feature::RowSource rows;
  batch::Splits splits;
  // They lower the lines when something else needs the memory: features first.
  std::vector<memory::Ledger::Reclaimer> reclaimers = {};
  uint64_t shared_bytes = 0;  // of the lines, if ranks of this host share one copy of them

  // Throws Error{store} if a file that is partly read from disk has changed.
  void check_unchanged() const;
};

// If several ranks of `group` are on this host, the first of them loads the lines, and the others
// map its memory. Such lines stay where they are.
Data load_data(const graph::Store& store, const plan::Arrangement& arrangement,
               const LaunchOptions& run, memory::Ledger& ledger, ranks::Group* group = nullptr);

}  // namespace plimsoll::train
