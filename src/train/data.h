// What a training reads from a store, resident in memory.
#pragma once

#include "batch/split.h"
#include "feature/rows.h"
#include "graph/store.h"
#include "memory/ledger.h"
#include "sample/topology.h"

namespace plimsoll::train {

struct Data {
  sample::Topology topology;
  feature::ResidentRows rows;
  batch::Splits splits;
};

Data load_data(const graph::Store& store, memory::Ledger& ledger, unsigned threads, bool quiet);

}  // namespace plimsoll::train
