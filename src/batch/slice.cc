#include "batch/slice.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "batch/by_source.h"

namespace plimsoll::batch {
namespace {

constexpr uint32_t kNotKept = UINT32_MAX;

}  // namespace

template <typename T>
std::span<T> Slice::room(uint64_t count) {
  static_assert(sizeof(T) == sizeof(uint32_t));
  words_.emplace_back(ledger_, "batches", std::max<uint64_t>(count, 1));
  return {reinterpret_cast<T*>(words_.back().data()), count};
}

// `kept` are the destinations to keep, and becomes the sources that they need: themselves first.
Block Slice::cut(const Block& whole, std::vector<uint32_t>& kept) {
  Block block{.destinations = static_cast<uint32_t>(kept.size())};
  uint64_t edges = 0;
  for (const uint32_t i : kept) edges += whole.offsets[i + 1] - whole.offsets[i];
  const auto offsets = room<uint32_t>(kept.size() + 1);
  const auto indices = room<uint32_t>(edges);
  const auto number = room<uint32_t>(whole.sources);
  std::fill(number.begin(), number.end(), kNotKept);
  for (uint32_t i = 0; i < block.destinations; ++i) number[kept[i]] = i;
  uint32_t next = 0;
  for (uint32_t i = 0; i < block.destinations; ++i) {
    offsets[i] = next;
    for (uint32_t e = whole.offsets[kept[i]]; e < whole.offsets[kept[i] + 1]; ++e) {
      const uint32_t source = whole.indices[e];
      if (number[source] == kNotKept) {
        number[source] = static_cast<uint32_t>(kept.size());
        kept.push_back(source);
      }
      indices[next++] = number[source];
    }
  }
  offsets[block.destinations] = next;
  block.sources = static_cast<uint32_t>(kept.size());
  block.offsets = offsets;
  block.indices = indices;
  const auto pick_scales = [&](std::span<const float> scales, uint32_t count) {
    if (scales.empty()) return std::span<float>();
    const auto picked = room<float>(count);
    for (uint32_t i = 0; i < count; ++i) picked[i] = scales[kept[i]];
    return picked;
  };
  block.destination_scale = pick_scales(whole.destination_scale, block.destinations);
  block.source_scale = pick_scales(whole.source_scale, block.sources);
  block.self_scale = pick_scales(whole.self_scale, block.destinations);
  if (whole.source_offsets.empty()) return block;
  const auto source_offsets = room<uint32_t>(uint64_t{block.sources} + 2);
  const auto by_source = room<uint32_t>(edges);
  const auto source_edges = room<uint32_t>(edges);
  sort_by_source(block, {source_offsets, by_source, source_edges});
  block.source_offsets = source_offsets.first(uint64_t{block.sources} + 1);
  block.by_source = by_source;
  block.source_edges = source_edges;
  return block;
}

Matrix Slice::pick(const Matrix& whole, std::span<const uint32_t> kept) {
  if (whole.data == nullptr) return {};
  const auto rows = room<float>(kept.size() * whole.columns);
  for (size_t i = 0; i < kept.size(); ++i) {
    std::memcpy(rows.data() + i * whole.columns, whole.data + kept[i] * whole.columns,
                whole.columns * sizeof(float));
  }
  return {rows.data(), kept.size(), whole.columns};
}

Slice::Slice(const Batch& whole, uint32_t first, uint32_t last, memory::Ledger& ledger)
    : ledger_(ledger) {
  std::vector<uint32_t> kept(last - first);
  std::iota(kept.begin(), kept.end(), first);
  batch_.index = whole.index;
  batch_.first_seed = whole.first_seed + first;
  batch_.before = whole.before + first;
  batch_.whole = whole.whole;
  batch_.seeds = last - first;
  if (!whole.labels.empty()) {
    const auto labels = room<int32_t>(kept.size());
    std::copy_n(whole.labels.begin() + first, kept.size(), labels.begin());
    batch_.labels = labels;
  }
  batch_.blocks.resize(whole.blocks.size());
  for (size_t i = whole.blocks.size(); i-- > 0;) batch_.blocks[i] = cut(whole.blocks[i], kept);
  batch_.input = pick(whole.input, kept);
  batch_.own = pick(whole.own, kept);
  const auto nodes = room<uint32_t>(kept.size());
  for (size_t i = 0; i < kept.size(); ++i) nodes[i] = whole.nodes[kept[i]];
  batch_.nodes = nodes;
}

}  // namespace plimsoll::batch
