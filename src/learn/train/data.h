// What a training reads from a store, resident as far as the lines say.
#pragma once

#include <vector>

#include "batch/split.h"
#include "feature/row_source.h"
#include "graph/store.h"
#include "memory/ledger.h"
#include "plan/arrangement.h"
#include "sample/topology.h"

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

struct LoadOptions {
  plan::Arrangement arrangement;
  unsigned threads = 1;
  bool quiet = false;
};
Data load_data(const graph::Store& store, memory::Ledger& ledger, const LoadOptions& options);

}  // namespace plimsoll::train
