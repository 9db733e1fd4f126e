// The inner loops of import and synth, one thread each. Counters are per second: keys, values,
// edges, bytes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/half.h"
#include "base/units.h"
#include "ingest/spill.h"
#include "ingest/synth.h"

namespace plimsoll {
namespace {

// A bucket as the import sorts it: 2^15 lists, neighbours among 10^8 nodes.
std::vector<uint64_t> bucket_keys(size_t count) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> keys(count);
  for (uint64_t& key : keys) key = ((random() % 32768) << 32) | (random() % 100'000'000);
  return keys;
}

void radix_sort(benchmark::State& state) {
  const auto keys = bucket_keys(static_cast<size_t>(state.range(0)));
  std::vector<uint64_t> work(keys.size());
  std::vector<uint64_t> scratch(keys.size());
  for (auto _ : state) {
    work = keys;
    benchmark::DoNotOptimize(ingest::radix_sort(work, scratch).data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(radix_sort)->Arg(1 << 16)->Arg(1 << 20);

void standard_sort(benchmark::State& state) {
  const auto keys = bucket_keys(static_cast<size_t>(state.range(0)));
  std::vector<uint64_t> work(keys.size());
  for (auto _ : state) {
    work = keys;
    std::sort(work.begin(), work.end());
    benchmark::DoNotOptimize(work.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(standard_sort)->Arg(1 << 20);

void floats_to_half(benchmark::State& state) {
  std::vector<float> values(128 * 1024, 0.7F);
  std::vector<uint16_t> halves(values.size());
  for (auto _ : state) {
    to_half(values, halves);
    benchmark::DoNotOptimize(halves.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(values.size() * sizeof(float)));
}
BENCHMARK(floats_to_half);

ingest::SynthOptions papers() { return ingest::synth_presets().front().options; }

void synth_edges(benchmark::State& state) {
  constexpr size_t kBlock = 65536;
  memory::Ledger ledger(kMiB);
  ingest::SynthGraph source(papers(), ledger);
  std::vector<uint32_t> from(kBlock);
  std::vector<uint32_t> to(kBlock);
  for (auto _ : state) benchmark::DoNotOptimize(source.next_edges(from, to));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kBlock));
}
BENCHMARK(synth_edges);

void synth_rows(benchmark::State& state) {
  memory::Ledger ledger(kMiB);
  const ingest::SynthGraph source(papers(), ledger);
  std::vector<uint32_t> nodes(1024);
  std::mt19937 random(1);
  for (uint32_t& node : nodes) node = static_cast<uint32_t>(random() % papers().nodes);
  std::vector<float> values(nodes.size() * papers().feature_columns);
  for (auto _ : state) {
    source.rows_of(nodes, values);
    benchmark::DoNotOptimize(values.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(nodes.size()));
}
BENCHMARK(synth_rows);

}  // namespace
}  // namespace plimsoll
