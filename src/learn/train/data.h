// What a training reads from a store, resident as far as the lines say.
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
  // Lines go down when something else needs the memory: features first.
  std::vector<memory::Ledger::Reclaimer> reclaimers = {};

  // Error{store} where a file of which a part is read from disk has been written to.
  void check_unchanged() const;
};

Data load_data(const graph::Store& store, const plan::Arrangement& arrangement,
               const LaunchOptions& run, memory::Ledger& ledger);

}  // namespace plimsoll::train
