#include "train/data.h"

#include "base/progress.h"

namespace plimsoll::train {

Data load_data(const graph::Store& store, memory::Ledger& ledger, unsigned threads, bool quiet) {
  Progress progress(Progress::detect(quiet));
  uint64_t total = 0;
  for (const char* file : {"offsets.u64", "neighbors.u32"})
    total += store.meta().files.at(file).bytes;
  total += store.meta().nodes * store.meta().row_bytes;
  progress.start_step("loading the store", "bytes", total);
  const auto on_bytes = [&](uint64_t bytes) { progress.add(bytes); };
  return {sample::load_topology(store, ledger, threads, on_bytes),
          feature::load_rows(store, ledger, threads, on_bytes), batch::load_splits(store, ledger)};
}

}  // namespace plimsoll::train
