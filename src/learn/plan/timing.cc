// Making batches, reading and computing overlap, so the slowest of them decides the time: the
// workers, the disk, the device that computes, or the cores that all of them share.
#include "plan/timing.h"

#include <algorithm>
#include <cmath>

#include "nn/threads.h"

namespace plimsoll::plan {
namespace {

using recipe::ModelKind;

constexpr double kReadCpuSeconds = 4e-6;  // CPU time of one read
// Windows choose the neighbours of a list twice: to know what to read, and to take it.
constexpr double kDrawnTwice = 1.5;
// If it was not measured: twice as many threads compute 2^0.9 times as fast.
constexpr double kThreadsHelp = 0.9;
// Batches vary, so two stages that take equally long sometimes wait for each other: together they
// take a fifth longer than one of them.
constexpr double kOverlap = 4;
// More threads than cores take turns, and computing threads wait for the last one of them.
constexpr double kTurns = 1.15;
constexpr unsigned kFirstPart = 8;  // if the trainer need not wait, the first window has 1/8
constexpr double kSmallBlocks = 2;  // up to so many blocks, the work fits into the caches

double longest(double a, double b) {
  return std::pow(std::pow(a, kOverlap) + std::pow(b, kOverlap), 1 / kOverlap);
}

// The cost of one kind of work, done by at most as many threads as it has blocks.
struct Effort {
  double seconds = 0;       // wall time
  double core_seconds = 0;  // CPU time of all threads
  Effort& operator+=(const Effort& other) {
    seconds += other.seconds;
    core_seconds += other.core_seconds;
    return *this;
  }
};

// The device that computes a step.
class Computing {
 public:
  Computing(const StepRates& rates, ModelKind model, bool gpu, unsigned threads)
      : rates_(rates),
        threads_(gpu ? 1 : std::max(1U, threads)),
        slowdown_(rates.slowdown.at(static_cast<size_t>(model))) {}
  const StepRates& rates() const { return rates_; }

  // A matrix product that is computed `times` times, forward and backward together.
  Effort multiply(double rows, double in, double out, double times) const;
  Effort pass(double values, double values_a_second) const {
    return spread(values / values_a_second, values / nn::kValuesABlock, rates_.pass_gain);
  }

 private:
  Effort spread(double seconds, double blocks, double gain) const {
    const double threads = std::clamp(blocks, 1.0, threads_);
    if (blocks > kSmallBlocks) seconds *= slowdown_;
    const double power = rates_.threads > 1
                             ? std::log(std::max(1.0, gain)) / std::log(rates_.threads)
                             : kThreadsHelp;
    const double faster = std::pow(threads, power);
    return {seconds / faster, seconds / faster * threads};
  }

  const StepRates& rates_;
  double threads_;
  double slowdown_;
};

// Products of narrow matrices are slower than those of wide ones.
double flops_per_second(const StepRates& rates, double columns) {
  const double wide = std::log(StepRates::kWide);
  const double narrow = std::log(StepRates::kNarrow);
  const double place = std::clamp((std::log(columns) - narrow) / (wide - narrow), 0.0, 1.0);
  return rates.narrow_flops * std::pow(rates.wide_flops / rates.narrow_flops, place);
}

Effort Computing::multiply(double rows, double in, double out, double times) const {
  const double multiplications = rows * in * out;
  return spread(2 * multiplications * times / flops_per_second(rates_, std::min(in, out)),
                multiplications / nn::kMultiplicationsABlock, rates_.product_gain);
}

// One layer's part of a batch.
struct LayerWork {
  double sources = 0;
  double destinations = 0;
  double edges = 0;  // including one self loop per destination
  double in = 0;
  double out = 0;
  bool first = false;
  bool last = false;
};

LayerWork layer_work(const Work& work, size_t layer) {
  const BatchSize& batch = work.probe.batch;
  const size_t layers = work.recipe.fanout.size();
  LayerWork one{
      .sources = static_cast<double>(batch.seeds),
      .destinations = static_cast<double>(batch.seeds),
      .in = static_cast<double>(layer == 0 ? work.store.columns : work.recipe.hidden),
      .out = static_cast<double>(layer + 1 == layers ? work.store.classes : work.recipe.hidden),
      .first = layer == 0,
      .last = layer + 1 == layers};
  if (work.recipe.model == ModelKind::mlp) return one;
  const HopSize& hop = batch.hops[layers - 1 - layer];
  one.destinations = static_cast<double>(hop.destinations);
  one.edges = static_cast<double>(hop.edges + hop.destinations);
  one.sources =
      static_cast<double>(layer == 0 ? batch.nodes : batch.hops[layers - layer].destinations);
  return one;
}

// Without the fixed cost of operations.
Effort layer_effort(ModelKind model, const LayerWork& layer, const Computing& device) {
  // Forward, the gradient of the weights and, except for the first layer, of the input.
  const double times = layer.first ? 2 : 3;
  const auto multiplied = [&](double rows) {
    return device.multiply(rows, layer.in, layer.out, times);
  };
  Effort effort;
  if (!layer.last)
    effort += device.pass(layer.destinations * layer.out, device.rates().activations);
  if (model == ModelKind::mlp) return effort += multiplied(layer.destinations);
  if (model == ModelKind::gat) {
    effort += multiplied(layer.sources);
    return effort += device.pass(layer.edges * layer.out, device.rates().attention);
  }
  // The worker has already made the first layer's sums. The other layers sum before they multiply
  // if that is less work; see nn::sum_first.
  const double square = layer.in * layer.out;
  const bool sums_first = layer.first || layer.edges * layer.in + layer.destinations * square <=
                                             layer.edges * layer.out + layer.sources * square;
  effort += multiplied(sums_first ? layer.destinations : layer.sources);
  if (model == ModelKind::sage) effort += multiplied(layer.destinations);  // the own rows
  if (layer.first) return effort;
  return effort +=
         device.pass(2 * layer.edges * (sums_first ? layer.in : layer.out), device.rates().sums);
}

struct StepCost {
  double fixed = 0;  // seconds of one thread: the fixed cost of operations, or launching them
  Effort working;
};

StepCost step_cost(const Question& question, unsigned threads) {
  if (question.loading) return {};  // the other program computes
  const Work work = question.work();
  const recipe::Recipe& recipe = question.recipe;
  const StepRates& rates = question.machine.step;
  const Computing device(rates, recipe.model, question.gpu, threads);
  const auto layers = static_cast<double>(recipe.fanout.size());
  StepCost cost{.fixed = rates.of(recipe.model).base + layers * rates.of(recipe.model).layer};
  for (size_t i = 0; i < recipe.fanout.size(); ++i) {
    const LayerWork layer = layer_work(work, i);
    cost.working += layer_effort(recipe.model, layer, device);
    if (recipe.batch_norm && !layer.last) {
      cost.working += device.pass(layer.destinations * layer.out, rates.activations);
    }
  }
  const auto seeds = static_cast<double>(question.probe.batch.seeds);
  cost.working += device.pass(seeds * static_cast<double>(question.store.classes), rates.losses);
  cost.working +=
      device.pass(static_cast<double>(nn::parameter_count(dimensions(work))), rates.parameters);
  return cost;
}

// Copying a batch to a GPU, which overlaps with computing.
double copy_seconds(const Question& question) {
  const StepRates& rates = question.machine.step;
  if (!question.gpu || rates.copied_bytes <= 0) return 0;
  return static_cast<double>(slot_bytes(question.work(), /*reads_disk=*/false)) /
         rates.copied_bytes;
}

double seconds_of(const Question& question, const StepCost& cost) {
  // A GPU computes while the next operations are launched.
  if (question.gpu) {
    return longest(cost.fixed, std::max(cost.working.seconds, copy_seconds(question)));
  }
  return cost.fixed + cost.working.seconds;
}

double row_bytes_read(const Question& question) {
  return static_cast<double>(std::max(question.machine.read_bytes, question.store.row_bytes));
}

// The disk's time for a batch, with enough reads in flight.
double disk_seconds(const Question& question, const Reads& reads, double reads_per_second) {
  const Machine& machine = question.machine;
  if (reads_per_second <= 0) return 0;
  const double by_count = reads.all() / reads_per_second;
  const double bytes =
      reads.lists * static_cast<double>(machine.read_bytes) + reads.rows * row_bytes_read(question);
  const double by_bytes =
      machine.read_bytes_per_second > 0 ? bytes / machine.read_bytes_per_second : 0;
  return std::max(by_count, by_bytes);
}

// The least time that a worker waits for the disk, per batch. It reads hop after hop, then as many
// rows as its area holds; each such round waits for at least one read.
double rounds_seconds(const Question& question, const Arrangement& arrangement,
                      const Reads& reads) {
  double rounds = 0;
  if (reads.lists > 0) rounds += static_cast<double>(question.probe.batch.hops.size());
  if (reads.rows > 0) {
    const double bytes = reads.rows * row_bytes_read(question);
    rounds +=
        std::max(1.0, bytes / static_cast<double>(std::max<uint64_t>(1, arrangement.area_bytes)));
  }
  return rounds * question.machine.read_seconds;
}

}  // namespace

double step_seconds(const Question& question, unsigned computing) {
  return seconds_of(question, step_cost(question, computing));
}

double drawing_seconds(const Question& question) {
  double edges = 0;
  for (const HopSize& hop : question.probe.batch.hops) edges += static_cast<double>(hop.edges);
  return edges * question.machine.making.edge_seconds;
}

double filling_seconds(const Question& question) {
  const BatchSize& batch = question.probe.batch;
  const ModelKind model = question.recipe.model;
  const MakingRates& rates = question.machine.making;
  double sorted = 0;
  for (const HopSize& hop : batch.hops) sorted += static_cast<double>(hop.edges);
  double summed = 0;
  auto copied = static_cast<double>(batch.nodes);
  if (!batch.hops.empty() && (model == ModelKind::gcn || model == ModelKind::sage)) {
    const HopSize& last = batch.hops.back();
    const bool sage = model == ModelKind::sage;  // keeps the own rows separate
    summed = static_cast<double>(last.edges + (sage ? 0 : last.destinations));
    copied = static_cast<double>(sage ? last.destinations : 0);
    sorted -= static_cast<double>(last.edges);
  }
  // Half of a row's cost is to find it; the other half is proportional to its size.
  const double row_share =
      0.5 + 0.5 * static_cast<double>(question.store.row_bytes) / MakingRates::kRowBytes;
  return rates.batch_seconds +
         (summed * rates.row_seconds + copied * rates.copy_seconds) * row_share +
         sorted * rates.sort_seconds;
}

DiskWork disk_work(const Question& question, const Arrangement& arrangement, const Reads& reads) {
  if (arrangement.window > 1) return window_work(question, arrangement, arrangement.window);
  return {.requests = reads.all(),
          .bytes = reads.lists * static_cast<double>(question.machine.read_bytes) +
                   reads.rows * row_bytes_read(question),
          .rows = reads.rows};
}

namespace {

// Per batch.
struct MakingTime {
  double core_seconds = 0;  // CPU time
  double seconds = 0;       // until the next one is made
};

MakingTime making_time(const Question& question, const Arrangement& arrangement,
                       const Reads& reads) {
  const Machine& machine = question.machine;
  const auto workers = static_cast<double>(
      std::clamp<uint64_t>(question.batches(), 1, std::max(1U, arrangement.workers)));
  double making = 0;
  double made = 0;
  if (arrangement.window > 1 && reads.all() > 0) {
    // A window is drawn and then read, while workers fill the batches of the one before.
    const DiskWork work = disk_work(question, arrangement, reads);
    const double drawing = kDrawnTwice * drawing_seconds(question);
    const double filling = filling_seconds(question);
    const double window = drawing / arrangement.drawing + work.seconds(arrangement.price);
    making = drawing + filling + work.requests * kReadCpuSeconds +
             work.rows * machine.making.copy_seconds;
    // Threads that draw and threads that fill share the cores that are not computing.
    const double makers =
        std::max(1.0, question.gpu ? question.threads - 1.0 : std::ceil(question.threads / 2.0));
    made = std::max({filling / workers, window, making / makers});
  } else {
    making = drawing_seconds(question) + filling_seconds(question) + reads.all() * kReadCpuSeconds;
    const double disk = disk_seconds(question, reads, machine.most_reads_per_second);
    const double waiting = std::max(disk_seconds(question, reads, machine.reads_per_second),
                                    rounds_seconds(question, arrangement, reads));
    made = std::max((making + waiting) / workers, disk);
  }
  return {making, made};
}

bool known(const Question& question, const Reads& reads) {
  const Machine& machine = question.machine;
  const bool makes = question.loading ? machine.making.known() : machine.known();
  return makes && (reads.all() == 0 || machine.reads_per_second > 0);
}

}  // namespace

unsigned first_window(const Question& question, const Arrangement& arrangement,
                      const Reads& reads) {
  const bool waits = known(question, reads) && making_time(question, arrangement, reads).seconds >=
                                                   step_seconds(question, arrangement.computing);
  return waits ? arrangement.window : std::max(1U, arrangement.window / kFirstPart);
}

double predict_time(const Question& question, const Arrangement& arrangement, const Reads& reads) {
  if (!known(question, reads)) return 0;
  const StepCost cost = step_cost(question, arrangement.computing);
  const double step = seconds_of(question, cost);
  const MakingTime making = making_time(question, arrangement, reads);
  // CPU time. With a GPU, one core launches its operations.
  const double computing = cost.fixed + (question.gpu ? 0 : cost.working.core_seconds);
  const double cores = std::max(1U, question.threads);
  const uint64_t workers =
      std::clamp<uint64_t>(question.batches(), 1, std::max(1U, arrangement.workers));
  const bool in_turns = !question.gpu && !question.loading &&
                        arrangement.computing + workers > std::max(1U, question.threads);
  const double shared = (making.core_seconds + computing) / cores * (in_turns ? kTurns : 1);
  const double seconds = std::max(longest(making.seconds, step), shared);
  double all = static_cast<double>(question.batches()) * seconds;
  // The first window of an epoch is read while the epoch before is computed, if there is one.
  // Otherwise nothing is computed while it is read, and nothing is read while the last one is
  // computed.
  const bool looks_ahead = !question.loading && question.recipe.epochs > 1;
  if (arrangement.window > 1 && reads.all() > 0 && !looks_ahead) {
    all += making.seconds >= step ? arrangement.window * step
                                  : arrangement.window * making.seconds / kFirstPart;
  }
  return all;
}

}  // namespace plimsoll::plan
