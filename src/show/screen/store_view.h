// A store as people read it: its shape, its files, and its numbers with bars beside them.
#pragma once

#include "graph/store.h"
#include "graph/summary.h"

namespace plimsoll::screen {

void print_store(const graph::Store& store, const graph::StoreSummary& summary);

}  // namespace plimsoll::screen
