#include "gpu/rates.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include "base/random.h"
#include "gpu/device_layers.h"
#include "memory/buffer.h"

namespace plimsoll::gpu {
namespace {

constexpr uint32_t kColumns = 128;
constexpr uint64_t kRowBytes = kColumns * 2;  // half precision
constexpr uint32_t kPositions = 16384;
constexpr uint32_t kLanes = kColumns / kLane;
constexpr double kLeastSeconds = 0.03;

// Seconds that one run of the recorded `work` takes.
double seconds_of(Accelerator& device, const std::function<void()>& work) {
  const auto recording = device.record(work);
  recording->start();
  device.wait();
  for (uint64_t times = 4;; times *= 2) {
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < times; ++i) recording->start();
    device.wait();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (seconds > kLeastSeconds) return seconds / static_cast<double>(times);
  }
}

// The memory that measurements work on. All values are 0.
struct Values {
  explicit Values(Accelerator& on)
      : device(on),
        values(on, "calibration", uint64_t{1} << 25),
        bias(on, "calibration", kColumns),
        state(on, "calibration", 1) {
    device.clear(values.data(), values.size() * sizeof(float));
    device.clear(bias.data(), kColumns * sizeof(float));
    const BatchState first;
    state.upload(&first, 1);
  }
  // For rows of a pass.
  const uint32_t* nodes() const {
    return reinterpret_cast<const uint32_t*>(values.data()) + (1 << 24);
  }

  Accelerator& device;
  Array<float> values;
  Array<float> bias;
  Array<BatchState> state;
};

// A store whose lists have kDegree nodes at random places.
class RandomStore {
 public:
  explicit RandomStore(Accelerator& device)
      : neighbors_(kPositions * kDegree),
        rows_(device, "calibration", kNodes * kRowBytes),
        device_offsets_(device, "calibration", kNodes + 1),
        device_neighbors_(device, "calibration", neighbors_.size()),
        device_nodes_(device, "calibration", kPositions) {
    device.clear(rows_.data(), kNodes * kRowBytes);
    // A few nodes have lists of their own, which the others share.
    std::vector<uint64_t> offsets(kNodes + 1);
    for (uint64_t i = 0; i <= kNodes; ++i) offsets[i] = i % kPositions * kDegree;
    for (uint64_t i = kPositions; i <= kNodes; i += kPositions) offsets[i] = 0;
    const RandomStream random(1, 2);
    for (uint64_t i = 0; i < neighbors_.size(); ++i) {
      neighbors_[i] = static_cast<uint32_t>(below(random.at(i), kNodes));
    }
    std::vector<uint32_t> nodes(kPositions);
    for (uint32_t i = 0; i < kPositions; ++i) nodes[i] = i + 1 == kPositions ? 0 : i;
    device_offsets_.upload(offsets.data(), offsets.size());
    device_neighbors_.upload(neighbors_.data(), neighbors_.size());
    device_nodes_.upload(nodes.data(), nodes.size());
  }

  // From now on, lists name only the first rows.
  void keep_to(uint64_t rows) {
    for (uint32_t& neighbor : neighbors_) neighbor %= static_cast<uint32_t>(rows);
    device_neighbors_.upload(neighbors_.data(), neighbors_.size());
  }

  // The sums along the lists of kPositions nodes.
  SumRows sum(const Values& on) const {
    return {
        .lists = {{reinterpret_cast<const uint8_t*>(device_offsets_.data()), nullptr, UINT64_MAX},
                  {reinterpret_cast<const uint8_t*>(device_neighbors_.data()), nullptr,
                   UINT64_MAX}},
        .rows = {.file = {rows_.data(), nullptr, UINT64_MAX},
                 .row_bytes = kRowBytes,
                 .columns = kColumns,
                 .half = 1,
                 .packed = 1},
        .state = on.state.data(),
        .nodes = device_nodes_.data(),
        .sums = on.values.data(),
        .weights = SumWeights::mean,
        .fanout = kMeasuredFanout,
        .lanes = kLanes,
        .threads = kPositions * kLanes};
  }

 private:
  static constexpr uint64_t kNodes = kMeasuringBytes / 2 / kRowBytes;
  static constexpr uint64_t kDegree = 16;

  std::vector<uint32_t> neighbors_;
  Array<uint8_t> rows_;
  Array<uint64_t> device_offsets_;
  Array<uint32_t> device_neighbors_;
  Array<uint32_t> device_nodes_;
};

// The bytes a second that a sum reads: kMeasuredFanout drawn rows and its own row.
double rows_rate(Accelerator& device, const SumRows& sum) {
  const double seconds = seconds_of(device, [&] { device.run_drawing(sum); });
  return static_cast<double>(kPositions) * (kMeasuredFanout + 1) * kRowBytes / seconds;
}

double far_rows_rate(const Values& on, RandomStore& store, memory::Ledger& host) {
  const memory::Buffer<std::byte> far(host, "calibration", kFarMeasuringBytes);
  std::fill_n(far.data(), far.size(), std::byte{0});
  const Revealed revealed(on.device, far.data(), far.size());
  store.keep_to(kFarMeasuringBytes / kRowBytes);
  SumRows sum = store.sum(on);
  sum.rows.file = {nullptr, static_cast<const uint8_t*>(revealed.data()), 0};
  return rows_rate(on.device, sum);
}

// The bytes a second that a pass reads and writes.
double passes_rate(const Values& on) {
  constexpr uint32_t kPassRows = 1 << 18;  // more than the caches hold
  const Activate pass = {.x = on.values.data(),
                         .bias = on.bias.data(),
                         .nodes = on.nodes(),
                         .state = on.state.data(),
                         .columns = kColumns,
                         .share_threshold = 1U << 31,
                         .scale = 2,
                         .lanes = kLanes,
                         .threads = kPassRows * kLanes};
  const double seconds = seconds_of(on.device, [&] { on.device.run(pass); });
  return 2.0 * kPassRows * kColumns * sizeof(float) / seconds;
}

// The time to start one kind of work: that of a small one, among several that each wait for the one
// before.
double start_seconds(const Values& on) {
  constexpr uint64_t kFewRows = 512;
  constexpr uint64_t kFewColumns = 16;
  constexpr int kStarts = 4;
  Accelerator& device = on.device;
  float* const one = on.values.data();
  float* const other = one + (1 << 20);
  float* const third = one + (1 << 21);
  const auto few_kinds = [&] {
    device.run(Activate{.x = one,
                        .bias = on.bias.data(),
                        .nodes = on.nodes(),
                        .state = on.state.data(),
                        .columns = kFewColumns,
                        .lanes = kFewColumns / kLane,
                        .threads = kFewRows * kFewColumns / kLane});
    device.multiply({.rows = kFewRows,
                     .columns = kFewColumns,
                     .inner = kFewColumns,
                     .a = one,
                     .a_step = kFewColumns,
                     .b = other,
                     .b_step = kFewColumns,
                     .c = third,
                     .c_step = kFewColumns});
    device.run(AddRows{.values = third,
                       .partial_sums = one,
                       .row_step = kFewColumns,
                       .column_step = 1,
                       .rows = kFewRows,
                       .columns = kFewColumns,
                       .threads = kFewRows / kPartialSumRows * kFewColumns});
    device.run(AddPartialSums{.partial_sums = one,
                              .out = other,
                              .count = kFewRows / kPartialSumRows,
                              .threads = kFewColumns});
  };
  return seconds_of(device, few_kinds) / kStarts;
}

double flops(const Values& on, uint64_t columns) {
  constexpr uint64_t kRows = 16384;
  constexpr uint64_t kInner = 128;
  float* const memory = on.values.data();
  const double seconds = seconds_of(on.device, [&] {
    on.device.multiply({.rows = kRows,
                        .columns = columns,
                        .inner = kInner,
                        .a = memory,
                        .a_step = kInner,
                        .b = memory + kRows * kInner,
                        .b_step = kInner,
                        .b_transposed = true,
                        .c = memory + kRows * kInner * 2,
                        .c_step = columns});
  });
  return 2.0 * kRows * kInner * static_cast<double>(columns) / seconds;
}

}  // namespace

GpuRates measure_rates(Accelerator& device, memory::Ledger& host) {
  const Values values(device);
  GpuRates rates;
  {
    RandomStore store(device);
    rates.row_bytes = rows_rate(device, store.sum(values));
    rates.far_bytes = far_rows_rate(values, store, host);
  }
  rates.pass_bytes = passes_rate(values);
  rates.start_seconds = start_seconds(values);
  rates.narrow_flops = flops(values, static_cast<uint64_t>(GpuRates::kNarrowColumns));
  rates.wide_flops = flops(values, static_cast<uint64_t>(GpuRates::kWideColumns));
  return rates;
}

}  // namespace plimsoll::gpu
