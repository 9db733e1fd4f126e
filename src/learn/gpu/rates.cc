#include "gpu/rates.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include "base/random.h"
#include "memory/buffer.h"

namespace plimsoll::gpu {
namespace {

constexpr uint32_t kColumns = 128;
constexpr uint64_t kRowBytes = kColumns * 2;  // half precision
constexpr uint32_t kPositions = 16384;
constexpr uint32_t kLanes = kColumns / kLane;
constexpr double kLeastSeconds = 0.03;

// Seconds of one start of what `work` asks for.
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

double flops(Accelerator& device, float* memory, uint64_t columns) {
  constexpr uint64_t kRows = 16384;
  constexpr uint64_t kInner = 128;
  const double seconds = seconds_of(device, [&] {
    device.multiply({.rows = kRows,
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

// The bytes of rows that a sum reads: kMeasuredFanout drawn ones and the own one.
double rows_rate(Accelerator& device, const SumRows& sum) {
  const double seconds = seconds_of(device, [&] { device.run_drawing("sum_rows", sum); });
  return static_cast<double>(kPositions) * (kMeasuredFanout + 1) * kRowBytes / seconds;
}

}  // namespace

GpuRates measure_rates(Accelerator& device, memory::Ledger& host) {
  GpuRates rates;
  constexpr uint64_t kNodes = kMeasuringBytes / 2 / kRowBytes;
  constexpr uint64_t kDegree = 16;
  const Array<uint8_t> rows(device, "calibration", kNodes * kRowBytes);
  const Array<float> values(device, "calibration", uint64_t{1} << 25);
  device.clear(rows.data(), kNodes * kRowBytes);
  device.clear(values.data(), values.size() * sizeof(float));

  // A list of kDegree nodes at random places, for each of a few nodes whose lists the others share.
  std::vector<uint64_t> offsets(kNodes + 1);
  for (uint64_t i = 0; i <= kNodes; ++i) offsets[i] = i % kPositions * kDegree;
  for (uint64_t i = kPositions; i <= kNodes; i += kPositions) offsets[i] = 0;
  std::vector<uint32_t> neighbors(kPositions * kDegree);
  const RandomStream random(1, 2);
  for (uint64_t i = 0; i < neighbors.size(); ++i) {
    neighbors[i] = static_cast<uint32_t>(below(random.at(i), kNodes));
  }
  std::vector<uint32_t> nodes(kPositions);
  for (uint32_t i = 0; i < kPositions; ++i) nodes[i] = i + 1 == kPositions ? 0 : i;
  Array<uint64_t> device_offsets(device, "calibration", offsets.size());
  Array<uint32_t> device_neighbors(device, "calibration", neighbors.size());
  Array<uint32_t> device_nodes(device, "calibration", nodes.size());
  Array<BatchState> state(device, "calibration", 1);
  device_offsets.upload(offsets.data(), offsets.size());
  device_neighbors.upload(neighbors.data(), neighbors.size());
  device_nodes.upload(nodes.data(), nodes.size());
  const BatchState first;
  state.upload(&first, 1);
  SumRows sum = {
      .lists = {{reinterpret_cast<const uint8_t*>(device_offsets.data()), nullptr, UINT64_MAX},
                {reinterpret_cast<const uint8_t*>(device_neighbors.data()), nullptr, UINT64_MAX}},
      .rows = {.file = {rows.data(), nullptr, UINT64_MAX},
               .row_bytes = kRowBytes,
               .columns = kColumns,
               .half = 1,
               .packed = 1},
      .state = state.data(),
      .nodes = device_nodes.data(),
      .sums = values.data(),
      .weights = SumWeights::mean,
      .fanout = kMeasuredFanout,
      .lanes = kLanes,
      .threads = kPositions * kLanes};
  rates.row_bytes = rows_rate(device, sum);
  {
    const memory::Buffer<std::byte> far(host, "calibration", kFarMeasuringBytes);
    std::fill_n(far.data(), far.size(), std::byte{0});
    const auto* const revealed = static_cast<const uint8_t*>(device.reveal(far.data(), far.size()));
    for (uint32_t& neighbor : neighbors) neighbor %= kFarMeasuringBytes / kRowBytes;
    device_neighbors.upload(neighbors.data(), neighbors.size());
    sum.rows.file = {nullptr, revealed, 0};
    rates.far_bytes = rows_rate(device, sum);
    device.wait();
    device.conceal(far.data());
  }
  const Array<float> bias(device, "calibration", kColumns);
  device.clear(bias.data(), kColumns * sizeof(float));
  constexpr uint32_t kPassRows = 1 << 18;  // more than the caches hold
  const Activate pass = {.x = values.data(),
                         .bias = bias.data(),
                         .nodes = reinterpret_cast<const uint32_t*>(values.data()) + (1 << 24),
                         .state = state.data(),
                         .columns = kColumns,
                         .share_threshold = 1U << 31,
                         .scale = 2,
                         .lanes = kLanes,
                         .threads = kPassRows * kLanes};
  rates.pass_bytes = 2.0 * kPassRows * kColumns * sizeof(float) /
                     seconds_of(device, [&] { device.run("activate", pass); });
  // Small kinds of work, each of which waits for the one before and for memory.
  constexpr uint64_t kFewRows = 512;
  constexpr uint64_t kFewColumns = 16;
  constexpr int kStarts = 4;
  float* const one = values.data();
  float* const other = values.data() + (1 << 20);
  float* const third = values.data() + (1 << 21);
  const auto few_kinds = [&] {
    device.run("activate", Activate{.x = one,
                                    .bias = bias.data(),
                                    .nodes = pass.nodes,
                                    .state = state.data(),
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
    device.run("add_rows", AddRows{.values = third,
                                   .parts = one,
                                   .row_step = kFewColumns,
                                   .column_step = 1,
                                   .rows = kFewRows,
                                   .columns = kFewColumns,
                                   .threads = kFewRows / kPartRows * kFewColumns});
    device.run(
        "add_parts",
        AddParts{
            .values = one, .out = other, .parts = kFewRows / kPartRows, .threads = kFewColumns});
  };
  rates.start_seconds = seconds_of(device, few_kinds) / kStarts;
  rates.narrow_flops = flops(device, values.data(), 16);
  rates.wide_flops = flops(device, values.data(), 256);
  return rates;
}

}  // namespace plimsoll::gpu
