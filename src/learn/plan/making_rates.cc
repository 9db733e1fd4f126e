#include "plan/making_rates.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/units.h"
#include "batch/assemble.h"
#include "batch/pipeline.h"
#include "memory/buffer.h"
#include "plan/measuring.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kDegree = 16;
constexpr uint32_t kColumns = 128;  // in half precision: kRowBytes
constexpr uint64_t kBytesPerNode =
    sizeof(uint64_t) + kDegree * sizeof(uint32_t) + MakingRates::kRowBytes;
constexpr uint64_t kMostBytes = 640 * kMiB;
constexpr uint64_t kLeastNodes = 4096;
constexpr double kSeconds = 0.25;   // per measurement
constexpr double kMostSeconds = 2;  // of the clock, where a measurement counts CPU time
constexpr uint64_t kKey = 0x6d616b65;
constexpr size_t kPieces = 64;  // that threads make of a graph

}  // namespace

sample::Topology make_topology(const RegularGraph& graph, memory::Ledger& ledger) {
  const uint64_t edges = graph.nodes * graph.degree;
  memory::Pages offsets(ledger, "calibration", (graph.nodes + 1) * sizeof(uint64_t));
  memory::Pages neighbors(ledger, "calibration", edges * sizeof(uint32_t));
  auto* const bounds = static_cast<uint64_t*>(offsets.data());
  for (uint64_t i = 0; i <= graph.nodes; ++i) bounds[i] = i * graph.degree;
  auto* const values = static_cast<uint32_t*>(neighbors.data());
  const RandomStream random(graph.key, 0);
  parallel_for(graph.threads, kPieces, [&](size_t piece) {
    for (uint64_t i = edges * piece / kPieces; i < edges * (piece + 1) / kPieces; ++i) {
      values[i] = static_cast<uint32_t>(below(random.at(i), graph.nodes));
    }
  });
  return {std::move(offsets), std::move(neighbors), graph.nodes, edges};
}

namespace {

// A regular graph with rows.
class MadeUpGraph {
 public:
  MadeUpGraph(uint64_t nodes, unsigned threads, memory::Ledger& ledger)
      : topology_(make_topology({nodes, kDegree, kKey, threads}, ledger)),
        table_(ledger, "calibration", nodes * MakingRates::kRowBytes),
        rows_({.data = table_.data(),
               .row_bytes = MakingRates::kRowBytes,
               .count = nodes,
               .columns = kColumns,
               .half = true}),
        seeds_(std::min<uint64_t>(nodes, 1 << 16)) {
    parallel_for(threads, kPieces, [&](size_t piece) {
      const uint64_t first = table_.size() * piece / kPieces;
      std::fill_n(table_.data() + first, table_.size() * (piece + 1) / kPieces - first, '\1');
    });
    std::iota(seeds_.begin(), seeds_.end(), 0);
  }

  const sample::Topology& topology() const { return topology_; }
  const feature::RowSource& rows() const { return rows_; }
  const kernel::Rows& table() const { return rows_.shape(); }
  batch::Seeds seeds() const { return batch::Seeds::shuffled(seeds_, kKey); }

 private:
  sample::Topology topology_;
  memory::Buffer<unsigned char> table_;
  feature::RowSource rows_;
  std::vector<uint32_t> seeds_;
};

uint64_t nodes_in(uint64_t bytes) {
  return std::max(std::min(bytes, kMostBytes) / kBytesPerNode, kLeastNodes);
}

struct MakingSetting {
  std::vector<uint32_t> fanout;
  uint64_t batch_size = 0;
  recipe::ModelKind model = recipe::ModelKind::gcn;
};

constexpr uint64_t kLeastSeeds = 4;
constexpr uint64_t kMostSeeds = 512;
// More than a maker needs per seed with the fan-out 15,10: 16 sums of rows, or 176 rows.
constexpr uint64_t kSummingBytes = 32 * 1024;
constexpr uint64_t kCopyingBytes = 192 * 1024;

uint64_t share_of(const memory::Ledger& ledger, unsigned threads) {
  return ledger.available_bytes() / 2 / std::max(1U, threads);
}
MakingSetting summing_setting(uint64_t bytes) {
  return {.fanout = {15, 10},
          .batch_size = std::clamp(bytes / kSummingBytes, kLeastSeeds, kMostSeeds)};
}
MakingSetting copying_setting(uint64_t bytes) {
  return {.fanout = {15, 10},
          .batch_size = std::clamp(bytes / kCopyingBytes, kLeastSeeds, kMostSeeds),
          .model = recipe::ModelKind::gat};
}

// The contents of some batches, and the CPU time to make them.
struct Made {
  double batches = 0;
  double edges = 0;
  double rows = 0;    // that were read
  double sorted = 0;  // edges that were sorted by source
  double sample_seconds = 0;
  double prepare_seconds = 0;
  double fill_seconds = 0;
  double seconds() const { return sample_seconds + prepare_seconds + fill_seconds; }

  static constexpr auto kFields = {
      &Made::batches,        &Made::edges,           &Made::rows,        &Made::sorted,
      &Made::sample_seconds, &Made::prepare_seconds, &Made::fill_seconds};
  Made& operator+=(const Made& other) {
    for (const auto field : kFields) this->*field += other.*field;
    return *this;
  }
  Made average() const {
    Made one = *this;
    for (const auto field : kFields) one.*field /= batches;
    return one;
  }
};

// Makes batches like a worker of the pipeline.
class Maker {
 public:
  Maker(const MadeUpGraph& graph, const MakingSetting& setting, uint64_t number,
        memory::Ledger& ledger)
      : graph_(graph),
        assembly_(batch::assembly_for(setting.model, recipe::Norm::full)),
        sampler_(graph.topology(),
                 {.fanout = setting.fanout,
                  .all_degrees = assembly_.weighting == batch::Weighting::gcn_full},
                 ledger),
        assembler_(ledger, setting.fanout.size(), {}),
        seeds_(setting.batch_size),
        next_(number * kApart) {
    assembly_.gradients = true;
  }

  void make() {
    const batch::Seeds all = graph_.seeds();
    for (uint32_t& seed : seeds_) seed = all.node(all.place(next_++ % all.size()));
    const double start = thread_cpu_seconds();
    sampler_.sample(seeds_, next_, assembler_.neighborhood());
    const double sampled = thread_cpu_seconds();
    assembler_.prepare(assembly_, graph_.table().columns);
    const double prepared = thread_cpu_seconds();
    assembler_.fill(graph_.table(), assembler_.batch().nodes.data());
    made_.fill_seconds += thread_cpu_seconds() - prepared;
    made_.prepare_seconds += prepared - sampled;
    made_.sample_seconds += sampled - start;
    made_.rows += static_cast<double>(assembler_.batch().input.rows);
    for (const sample::Hop& hop : assembler_.neighborhood().hops) {
      made_.edges += static_cast<double>(hop.edges());
    }
    for (const batch::Block& block : assembler_.batch().blocks) {
      made_.sorted += static_cast<double>(block.indices.size());
    }
    if (assembly_.input != batch::Input::rows) {
      made_.rows += static_cast<double>(assembler_.summed_hop().edges());
    }
    ++made_.batches;
  }
  const Made& made() const { return made_; }
  void forget() { made_ = {}; }

 private:
  static constexpr uint64_t kApart = 7919;  // so that no two makers use the same seeds

  const MadeUpGraph& graph_;
  batch::Assembly assembly_;
  sample::Sampler sampler_;
  batch::Assembler assembler_;
  std::vector<uint32_t> seeds_;
  uint64_t next_;
  Made made_;
};

constexpr int kWarmUp = 2;  // batches; after them nothing is allocated any more

// The average batch. Measured with as many threads as training uses, because cores that share
// caches, memory or a physical core are slower.
Made measure(const MadeUpGraph& graph, const MakingSetting& setting, unsigned threads,
             memory::Ledger& ledger) {
  std::deque<Maker> makers;
  for (unsigned i = 0; i < threads; ++i) makers.emplace_back(graph, setting, i, ledger);
  parallel_for(threads, threads, [&](size_t i) {
    for (int batch = 0; batch < kWarmUp; ++batch) makers[i].make();
    makers[i].forget();
    const double start = steady_seconds();
    while (makers[i].made().batches == 0 || steady_seconds() - start < kSeconds) makers[i].make();
  });
  Made all;
  for (const Maker& maker : makers) all += maker.made();
  return all.average();
}

// The CPU time of the whole process per batch that goes through the pipeline: its threads do
// nothing else meanwhile.
double pipeline_seconds(const MadeUpGraph& graph, const MakingSetting& setting, unsigned threads,
                        memory::Ledger& ledger) {
  batch::Pipeline pipeline(graph.topology(), graph.rows(),
                           {.fanout = setting.fanout,
                            .assembly = batch::assembly_for(setting.model, recipe::Norm::full),
                            .workers = std::max(1U, threads / 2)},
                           ledger);
  double start = 0;
  double batches = 0;
  double end = 0;
  const double opened = steady_seconds();
  pipeline.start(
      {.seeds = graph.seeds(), .batch_size = setting.batch_size, .key = kKey, .gradients = true});
  const int first = static_cast<int>(10 * std::max(1U, threads));
  for (int taken = 0; const batch::Batch* batch = pipeline.take(); ++taken) {
    pipeline.give_back(batch);
    end = process_cpu_seconds();
    if (taken == first) start = end;  // from here on nothing is allocated any more
    if (taken <= first) continue;
    ++batches;
    // Other programs may leave this one little CPU time.
    if (end - start > kSeconds || steady_seconds() - opened > kMostSeconds) break;
  }
  pipeline.stop();
  return batches > 0 ? (end - start) / batches : 0;
}

double part(double seconds, double count) { return std::max(seconds / count, 1e-10); }

}  // namespace

struct BusyMakers::Work {
  Work(unsigned count, memory::Ledger& ledger);

  MadeUpGraph graph;
  std::deque<Maker> makers;
  std::vector<std::jthread> threads;  // declared last: they use the rest
};

BusyMakers::Work::Work(unsigned count, memory::Ledger& ledger)
    : graph(nodes_in(ledger.available_bytes() / 4), count, ledger) {
  const MakingSetting setting = summing_setting(share_of(ledger, count));
  for (unsigned i = 0; i < count; ++i) makers.emplace_back(graph, setting, i, ledger);
  for (Maker& maker : makers) {
    maker.make();
    threads.emplace_back([&maker](const std::stop_token& stopping) {
      while (!stopping.stop_requested()) maker.make();
    });
  }
}

BusyMakers::BusyMakers(unsigned count, memory::Ledger& ledger) {
  if (count > 0) work_ = std::make_unique<Work>(count, ledger);
}
BusyMakers::~BusyMakers() = default;

MakingRates measure_making(unsigned threads, memory::Ledger& ledger) {
  const MadeUpGraph graph(nodes_in(ledger.available_bytes() / 8 * 5), threads, ledger);
  const uint64_t share = share_of(ledger, threads);
  const MakingSetting summing = summing_setting(share);
  const MakingSetting small = {.fanout = {3, 2},
                               .batch_size = std::max(kLeastSeeds, summing.batch_size / 8)};
  const Made few = measure(graph, small, threads, ledger);
  const Made summed = measure(graph, summing, threads, ledger);
  const Made copied = measure(graph, copying_setting(share), threads, ledger);
  MakingRates rates;
  rates.edge_seconds = part(summed.sample_seconds, summed.edges);
  rates.sort_seconds = part(copied.prepare_seconds, copied.sorted);
  rates.copy_seconds = part(copied.fill_seconds, copied.rows);
  rates.row_seconds =
      part(summed.fill_seconds + summed.prepare_seconds - summed.sorted * rates.sort_seconds,
           summed.rows);
  const double in_parts = few.edges * rates.edge_seconds + few.sorted * rates.sort_seconds +
                          few.rows * rates.row_seconds;
  const double through_pipeline = pipeline_seconds(graph, small, threads, ledger);
  rates.batch_seconds = std::max({0.0, few.seconds() - in_parts, through_pipeline - in_parts});
  return rates;
}

}  // namespace plimsoll::plan
