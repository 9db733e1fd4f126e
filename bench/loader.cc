// loader STORE BATCH_SIZE FANOUT SECONDS: how many batches of feature rows a second the native
// pipeline makes, everything resident, with a thread per core and nobody who computes with them.
// Prints the rate, for bench/python_loader.py.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "base/error.h"
#include "base/parallel.h"
#include "batch/pipeline.h"
#include "batch/seeds.h"
#include "bench_main.h"
#include "feature/rows.h"
#include "graph/store.h"
#include "memory/limit.h"
#include "recipe/recipe.h"
#include "sample/topology.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int run(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "loader STORE BATCH_SIZE FANOUT SECONDS\n");
    return 2;
  }
  const graph::Store store = graph::open(argv[1]);
  const uint64_t batch_size = std::strtoull(argv[2], nullptr, 10);
  const auto fanout = recipe::parse_fanout(argv[3]);
  if (!fanout) fail(ErrorKind::usage, "'{}' is not a fan-out", argv[3]);
  const double wanted_seconds = std::strtod(argv[4], nullptr);
  const unsigned threads = available_threads();
  memory::Ledger ledger(memory::detect_limit().bytes);
  const auto ignore = [](uint64_t) {};
  const auto topology = sample::load_topology(store, ledger, {}, threads, ignore);
  const auto rows = feature::load_rows(store, ledger, {}, threads, ignore);
  const auto splits = batch::load_splits(store, ledger);
  if (!rows.file().resident()) fail(ErrorKind::memory, "the features do not fit into memory");
  batch::Pipeline pipeline(topology, rows,
                           {.fanout = *fanout, .workers = threads, .slots = threads + 2}, ledger);
  uint64_t batches = 0;
  Clock::time_point start;
  for (uint64_t epoch = 0; epoch < 2 || seconds_since(start) < wanted_seconds; ++epoch) {
    if (epoch == 1) {  // the first warms up
      start = Clock::now();
      batches = 0;
    }
    pipeline.start(
        {.seeds = batch::Seeds::shuffled(splits.train.nodes.span(),
                                         recipe::epoch_key(0, recipe::Purpose::shuffle, epoch)),
         .labels = splits.train.labels.span(),
         .batch_size = batch_size,
         .key = recipe::epoch_key(0, recipe::Purpose::draws, epoch)});
    while (const batch::Batch* batch = pipeline.take()) {
      pipeline.give_back(batch);
      ++batches;
    }
  }
  fmt::print("{:.1f}\n", static_cast<double>(batches) / seconds_since(start));
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  return plimsoll::bench_main("loader", plimsoll::run, argc, argv);
}
