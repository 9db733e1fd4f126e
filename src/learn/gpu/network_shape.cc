#include "gpu/network_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/accelerator.h"
#include "gpu/device_layers.h"

namespace plimsoll::gpu {
namespace {

using recipe::ModelKind;

// More than any memory holds, and so few that their bytes can be counted.
constexpr uint64_t kMostPositions = uint64_t{1} << 40;

// The partial sums of all steps of a sum over so many rows; see Network::add_up_rows.
uint64_t all_partial_sums_of(uint64_t rows) {
  uint64_t sums = 0;
  do {
    rows = partial_sums_of(rows);
    sums += rows;
  } while (rows > kPartialSumRows);
  return sums;
}

uint64_t heads_of(const recipe::Recipe& recipe, size_t layer) {
  return layer + 1 == recipe.fanout.size() ? 1 : recipe.heads;
}

}  // namespace

std::string cannot_draw(const recipe::Recipe& recipe, bool precomputed_sums) {
  if (recipe.batch_norm) return "--batch-norm counts every node once";
  if (precomputed_sums) return "the store holds precomputed sums";
  if (recipe.fanout.size() > kMostHops) return fmt::format("more than {} layers", kMostHops);
  if (recipe.model == ModelKind::mlp) return "";
  if (recipe.model == ModelKind::gcn && recipe.norm == recipe::Norm::sampled) {
    return "--norm sampled needs the degrees in the sample";
  }
  if (recipe.sampler != recipe::Draw::uniform) return "--sampler labor reads whole lists";
  const uint32_t most = *std::max_element(recipe.fanout.begin(), recipe.fanout.end());
  const uint32_t fewest = *std::min_element(recipe.fanout.begin(), recipe.fanout.end());
  if (most > kMostFanout || fewest == 0) {
    return fmt::format("a fan-out is not between 1 and {}", kMostFanout);
  }
  return "";
}

std::set<uint32_t> drawn_fanouts(const recipe::Recipe& recipe) {
  if (recipe.model == ModelKind::mlp) return {1};
  return {recipe.fanout.begin(), recipe.fanout.end()};
}

uint32_t lanes_of(uint64_t columns) { return static_cast<uint32_t>((columns + kLane - 1) / kLane); }
uint32_t partial_sums_of(uint64_t rows) {
  return static_cast<uint32_t>((rows + kPartialSumRows - 1) / kPartialSumRows);
}

size_t hop_of(const recipe::Recipe& recipe, size_t layer) {
  return recipe.model == ModelKind::mlp ? 0 : recipe.fanout.size() - 1 - layer;
}

std::vector<uint64_t> tree_positions(const recipe::Recipe& recipe, uint64_t seeds) {
  std::vector<uint64_t> positions = {seeds};
  if (recipe.model == ModelKind::mlp) return positions;
  const size_t kept = recipe.fanout.size() - (recipe.model == ModelKind::gat ? 0 : 1);
  for (size_t hop = 0; hop < kept; ++hop) {
    positions.push_back(
        std::min(kMostPositions, positions.back() * (1 + uint64_t{recipe.fanout[hop]})));
  }
  return positions;
}

uint64_t multiplied_rows(const recipe::Recipe& recipe, const std::vector<uint64_t>& positions,
                         size_t layer) {
  const size_t hop = hop_of(recipe, layer);
  return positions.at(recipe.model == ModelKind::gat ? hop + 1 : hop);
}

NetworkCounts counts_of(const NetworkShape& shape) {
  const recipe::Recipe& recipe = shape.recipe;
  const size_t layers = recipe.fanout.size();
  const bool sage = recipe.model == ModelKind::sage;
  const bool gat = recipe.model == ModelKind::gat;
  const bool sums = sage || recipe.model == ModelKind::gcn;
  const auto positions = tree_positions(recipe, shape.part_seeds);
  const auto results = [&](size_t layer) { return positions.at(hop_of(recipe, layer)); };
  NetworkCounts counts{
      .order = shape.longest_pass,
      .losses = shape.longest_pass / recipe.batch_size + 1,
      .nodes = positions.back(),
      .degrees = sums ? positions.back() : 0,
      .labels = shape.part_seeds,
      .input = positions.back() * shape.columns,
      .own = sage ? positions.back() * shape.columns : 0,
      .logits = shape.part_seeds * shape.classes,
      .chunks = uint64_t{chunks_of(static_cast<uint32_t>(shape.classes))} * shape.part_seeds,
  };
  for (size_t layer = 0; layer < layers; ++layer) {
    const uint64_t columns = layer + 1 == layers ? shape.classes : recipe.hidden;
    const uint64_t rows = multiplied_rows(recipe, positions, layer);
    counts.partial_sums = std::max(counts.partial_sums, all_partial_sums_of(rows) * columns);
    if (layer + 1 < layers) counts.values.push_back(results(layer) * recipe.hidden);
    if (gat) {
      const uint64_t heads = heads_of(recipe, layer);
      const AttentionCounts of_layer = {
          .z = rows * columns, .weights = rows * heads, .own_scores = results(layer) * heads};
      counts.attention.push_back(of_layer);
      counts.score_gradients = std::max(counts.score_gradients, of_layer.weights);
      counts.own_score_gradients = std::max(counts.own_score_gradients, of_layer.own_scores);
    }
    if (layer == 0) continue;
    const uint64_t inputs = rows * recipe.hidden;
    if (sums) counts.sums.push_back(inputs);
    counts.sums_gradient = std::max(counts.sums_gradient, inputs);
  }
  if (sage) counts.own_gradient = counts.sums_gradient;
  return counts;
}

uint64_t pass_bytes(const NetworkShape& shape) {
  const NetworkCounts counts = counts_of(shape);
  using Floats = Array<float>;
  return 4 * Floats::bytes_needed(counts.order) + Floats::bytes_needed(counts.losses);
}

uint64_t most_threads(const NetworkShape& shape) {
  const recipe::Recipe& recipe = shape.recipe;
  const auto positions = tree_positions(recipe, shape.part_seeds);
  uint64_t most = positions.back() * lanes_of(shape.columns);
  for (size_t layer = 0; layer < recipe.fanout.size(); ++layer) {
    const bool last = layer + 1 == recipe.fanout.size();
    const uint64_t rows = multiplied_rows(recipe, positions, layer);
    const uint64_t columns = last ? shape.classes : recipe.hidden;
    // A bias adds up the values of its column. Products, too, count rows and columns.
    most = std::max({most, rows, rows * lanes_of(columns), partial_sums_of(rows) * columns});
    if (recipe.model == ModelKind::gat) most = std::max(most, rows * heads_of(recipe, layer));
  }
  return std::max(
      most, uint64_t{chunks_of(static_cast<uint32_t>(shape.classes))} * uint64_t{shape.part_seeds});
}

uint64_t network_bytes(const NetworkShape& shape) {
  const NetworkCounts counts = counts_of(shape);
  using Floats = Array<float>;
  uint64_t bytes =
      Array<PassFacts>::bytes_needed(1) + 2 * Array<BatchState>::bytes_needed(1) +
      pass_bytes(shape) + Floats::bytes_needed(kRootTable) + Floats::bytes_needed(counts.nodes) +
      Floats::bytes_needed(counts.degrees) + 2 * Floats::bytes_needed(counts.labels) +
      Floats::bytes_needed(counts.input) + Floats::bytes_needed(counts.own) +
      Floats::bytes_needed(counts.logits) + Array<ChunkFigures>::bytes_needed(counts.chunks) +
      Array<SeedFigures>::bytes_needed(counts.labels) + Floats::bytes_needed(counts.sums_gradient) +
      Floats::bytes_needed(counts.own_gradient) + Floats::bytes_needed(counts.score_gradients) +
      Floats::bytes_needed(counts.own_score_gradients) + Floats::bytes_needed(counts.partial_sums);
  for (const uint64_t count : counts.sums) bytes += Floats::bytes_needed(count);
  for (const uint64_t count : counts.values) bytes += Floats::bytes_needed(count);
  for (const AttentionCounts& layer : counts.attention) {
    bytes += Floats::bytes_needed(layer.z) + 2 * Floats::bytes_needed(layer.weights) +
             Floats::bytes_needed(layer.own_scores);
  }
  return bytes;
}

}  // namespace plimsoll::gpu
