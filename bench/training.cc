// training STORE RUN_FOLDER...: what the machine allows beside what trainings reached. Each folder
// holds the results.json of a gcn run on the store; printed are its stages and, measured here and
// now, the sampler alone, the rate of matrix products of its shapes, of random rows and of plain
// memory reads.
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "batch/assemble.h"
#include "batch/seeds.h"
#include "bench_main.h"
#include "feature/rows.h"
#include "graph/store.h"
#include "memory/limit.h"
#include "nn/threads.h"
#include "recipe/recipe.h"
#include "sample/sampler.h"

namespace plimsoll {
namespace {

// Seconds of one call, over at least a second of calls.
double seconds_of(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  work();
  const Clock::time_point start = Clock::now();
  double elapsed = 0;
  int calls = 0;
  for (; elapsed < 1; ++calls) {
    work();
    elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return elapsed / calls;
}

struct Machine {
  double read_bytes_per_second = 0;  // one thread, in order
  double rows_per_second = 0;        // one thread, at random, converted and added up
};

// A list that visits rows at random, one long sum.
Machine measure_machine(const kernel::Rows& rows) {
  constexpr uint64_t kVisits = 1 << 20;
  std::vector<uint32_t> nodes(kVisits);
  std::vector<uint32_t> indices(kVisits);
  std::vector<uint32_t> offsets;
  const RandomStream random(1, 1);
  for (uint32_t i = 0; i < kVisits; ++i) {
    nodes[i] = static_cast<uint32_t>(below(random.at(i), rows.count));
    indices[i] = i;
    if (i % 16 == 0) offsets.push_back(i);
  }
  offsets.push_back(kVisits);
  std::vector<float> out((offsets.size() - 1) * rows.columns);
  const double random_seconds = seconds_of([&] {
    kernel::best().aggregate({.rows = rows,
                              .nodes = nodes.data(),
                              .offsets = offsets.data(),
                              .indices = indices.data(),
                              .out = out.data(),
                              .last = offsets.size() - 1});
  });
  const uint64_t words = std::min<uint64_t>(rows.count * rows.row_bytes, 1 << 30) / 8;
  const auto* data = reinterpret_cast<const uint64_t*>(rows.data);
  volatile uint64_t sink = 0;
  const double read_seconds = seconds_of([&] {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < words; ++i) sum += data[i];
    sink = sum;
  });
  return {static_cast<double>(words) * 8 / read_seconds,
          static_cast<double>(kVisits) / random_seconds};
}

double product_rate(int64_t rows, int64_t inner, int64_t columns) {
  const at::Tensor a = at::randn({rows, inner});
  const at::Tensor b = at::randn({columns, inner});
  const double seconds = seconds_of([&] { at::mm(a, b.t()); });
  return 2.0 * static_cast<double>(rows * inner * columns) / seconds;
}

struct Drawn {
  double batches_per_second = 0;
  double destinations = 0;  // rows of the first layer
  double edges = 0;         // of the first layer
};

Drawn sample_alone(const sample::Topology& topology, const batch::Split& split,
                   const recipe::Recipe& recipe, memory::Ledger& ledger) {
  sample::Sampler sampler(topology, {.fanout = recipe.fanout}, ledger);
  sample::Neighborhood out(ledger, recipe.fanout.size());
  const auto seeds = batch::Seeds::shuffled(split.nodes.span(), 1);
  const uint64_t batches = std::max<uint64_t>(1, seeds.size() / recipe.batch_size);
  std::vector<uint32_t> nodes(seeds.size());
  for (uint64_t i = 0; i < nodes.size(); ++i) nodes[i] = seeds.node(seeds.place(i));
  uint64_t drawn = 0;
  Drawn result;
  const double seconds = seconds_of([&] {
    const std::span<const uint32_t> rest =
        std::span(nodes).subspan(drawn % batches * recipe.batch_size);
    ++drawn;
    sampler.sample(rest.first(std::min(rest.size(), recipe.batch_size)), drawn, out);
    result.destinations += out.hops.back().destinations;
    result.edges += out.hops.back().edges();
  });
  const auto count = static_cast<double>(drawn);
  return {1 / seconds, result.destinations / count, result.edges / count};
}

void report(const std::filesystem::path& folder, const Machine& machine,
            const sample::Topology& topology, const batch::Split& split, int64_t inputs,
            memory::Ledger& ledger) {
  std::ifstream file(folder / "results.json");
  const auto results = nlohmann::json::parse(file);
  const recipe::Recipe recipe = recipe::from_json(results.at("recipe"), "results.json");
  const Drawn drawn = sample_alone(topology, split, recipe, ledger);
  const auto rows = static_cast<int64_t>(drawn.destinations);
  const auto hidden = static_cast<int64_t>(recipe.hidden);
  const double rate = product_rate(rows, inputs, hidden);
  // The first layer forward and its weights' gradient; the others are small beside it.
  const double product_ms = 2 * 2.0 * static_cast<double>(rows * inputs * hidden) / rate * 1e3;
  const double rows_ms = (drawn.edges + drawn.destinations) / machine.rows_per_second * 1e3;
  const auto& stages = results.at("stage_milliseconds");
  const auto stage = [&](const char* name) {
    return stages.at(name).is_null() ? 0.0 : stages.at(name).get<double>();
  };
  const double making = stage("sample") + stage("gather");
  const double computing = stage("forward") + stage("backward") + stage("step");
  fmt::print("\nbatch {}, fan-out {}, hidden {}\n", recipe.batch_size,
             recipe::format_fanout(recipe.fanout), recipe.hidden);
  fmt::print("  training             {:9.1f} batches/s\n",
             results.at("batches_per_second").get<double>());
  fmt::print(
      "  sampler, one thread  {:9.0f} batches/s, {:.0f} rows and {:.0f} edges in the first "
      "layer\n",
      drawn.batches_per_second, drawn.destinations, drawn.edges);
  fmt::print("  stage       ms   share of the thread's work\n");
  for (const char* name : {"sample", "gather"}) {
    fmt::print("  {:9} {:6.3f} {:4.0f} % of {:.3f} ms on a worker\n", name, stage(name),
               100 * stage(name) / making, making);
  }
  for (const char* name : {"forward", "backward", "step"}) {
    fmt::print("  {:9} {:6.3f} {:4.0f} % of {:.3f} ms on the training thread, which waits {:.3f}\n",
               name, stage(name), 100 * stage(name) / computing, computing, stage("waiting"));
  }
  fmt::print(
      "  limits: the first layer's rows take {:.3f} ms at {:.1f} M rows/s, its products "
      "{:.3f} ms at {:.0f} GFLOP/s\n",
      rows_ms, machine.rows_per_second / 1e6, product_ms, rate / 1e9);
  fmt::print(
      "  of its thread's time, the limit is {:.0f} % (worker, rows), {:.0f} % (training "
      "thread, products)\n",
      100 * rows_ms / making, 100 * product_ms / computing);
}

int run(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "training STORE RUN_FOLDER...\n");
    return 2;
  }
  const graph::Store store = graph::open(argv[1]);
  memory::Ledger ledger(memory::detect_limit().bytes);
  const auto ignore = [](uint64_t) {};
  const auto topology = sample::load_topology(store, ledger, {}, 2, ignore);
  const auto source = feature::load_rows(store, ledger, {}, 2, ignore);
  const auto splits = batch::load_splits(store, ledger);
  nn::set_computing_threads(1);
  if (!source.file().resident()) fail(ErrorKind::memory, "the features do not fit into memory");
  const io::LinedFile::Use use(source.file());
  kernel::Rows rows = source.shape();
  rows.data = reinterpret_cast<const unsigned char*>(use.data);
  const Machine machine = measure_machine(rows);
  fmt::print("machine: {:.1f} GB/s read in order, {:.1f} M random rows/s of {} (one thread)\n",
             machine.read_bytes_per_second / 1e9, machine.rows_per_second / 1e6,
             format_bytes(rows.row_bytes));
  for (int i = 2; i < argc; ++i) {
    report(argv[i], machine, topology, splits.train,
           static_cast<int64_t>(store.meta().feature_columns), ledger);
  }
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  return plimsoll::bench_main("training", plimsoll::run, argc, argv);
}
