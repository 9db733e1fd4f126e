#include "train/data.h"

#include <algorithm>

#include "base/progress.h"

namespace plimsoll::train {

void Data::check_unchanged() const {
  for (const io::LinedFile* file : {&rows.file(), &topology.neighbors(), &topology.offsets()}) {
    file->check_unchanged();
  }
}

Data load_data(const graph::Store& store, const plan::Arrangement& arrangement,
               const LaunchOptions& run, memory::Ledger& ledger) {
  const graph::Meta& meta = store.meta();
  const plan::Lines& lines = arrangement.lines;
  Progress progress(Progress::detect(run.quiet));
  const auto resident = [](uint64_t file_bytes, uint64_t line_bytes) {
    return std::min(file_bytes, line_bytes);
  };
  progress.start_step("loading the store", "bytes",
                      resident(meta.files.at("offsets.u64").bytes, lines.offsets_bytes) +
                          resident(meta.files.at("neighbors.u32").bytes, lines.neighbors_bytes) +
                          resident(meta.nodes * meta.row_bytes, lines.features_bytes));
  const auto on_bytes = [&](uint64_t bytes) { progress.add(bytes); };
  // Splits are small but needed as a whole, so load them before the lines take the rest.
  batch::Splits splits = batch::load_splits(store, ledger);
  Data data{sample::load_topology(store, ledger, {lines.offsets_bytes, lines.neighbors_bytes},
                                  run.threads, on_bytes),
            feature::load_rows(store, ledger,
                               {.line_bytes = lines.features_bytes,
                                .areas = 2 * arrangement.workers,  // training and evaluating
                                .area_bytes = arrangement.area_bytes,
                                .windows = arrangement.window > 1 ? batch::kWindows : 0,
                                .window_bytes = arrangement.window_bytes},
                               run.threads, on_bytes),
            std::move(splits)};
  for (io::LinedFile* file :
       {&data.rows.file(), &data.topology.neighbors(), &data.topology.offsets()}) {
    data.reclaimers.push_back(
        ledger.on_shortage([file](uint64_t bytes) { file->lower_by(bytes); }));
  }
  return data;
}

}  // namespace plimsoll::train
