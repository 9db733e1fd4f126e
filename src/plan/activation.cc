// Goes through forward and backward as nn/model.cc, nn/layer.cc and nn/attention.cc do on a CPU,
// tensor by tensor, and remembers when there were most of them.
#include "plan/activation.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/units.h"

namespace plimsoll::plan {
namespace {

using recipe::ModelKind;

constexpr uint64_t kVaries = 32;  // a part more, for batches that are larger than expected
constexpr uint64_t kSmallTensors = 1 * kMiB;  // and what is not counted

// Floats of a tensor. Sizes are rounded up, as by train/tensor_memory.cc.
uint64_t tensor(uint64_t rows, uint64_t columns) {
  const uint64_t count = rows * columns;
  const uint64_t step = std::max<uint64_t>(1, std::bit_floor(count) / 8);
  return (count + step - 1) / step * step;
}

struct LayerSize {
  uint64_t out = 0;       // its values, which the next layer is given
  uint64_t kept = 0;      // from forward to backward, beside them
  uint64_t forward = 0;   // while it computes, beside both
  uint64_t backward = 0;  // the same of backward, what it kept included
};

struct LayerShape {
  uint64_t sources = 0;
  uint64_t destinations = 0;
  uint64_t edges = 0;
  uint64_t in = 0;
  uint64_t out = 0;
  uint64_t heads = 0;
  bool first = false;
};

// While the gradient of a weight is made: the parts of the sum over all rows but the first, see
// nn/product.cc.
uint64_t gradient_parts(const LayerShape& shape, uint64_t rows) {
  constexpr uint64_t kMostParts = 16;
  constexpr uint64_t kLeastRows = 256;
  const uint64_t parts = std::min(kMostParts, (rows + kLeastRows - 1) / kLeastRows);
  return parts < 2 ? 0 : tensor(parts - 1, shape.in * shape.out);
}

LayerSize attention_size(const LayerShape& shape) {
  const uint64_t z = tensor(shape.sources, shape.out);
  const uint64_t weights = tensor(shape.edges + shape.destinations, shape.heads);
  const uint64_t own_scores = tensor(shape.destinations, shape.heads);
  const uint64_t out = tensor(shape.destinations, shape.out);
  const uint64_t kept = z + weights + tensor(shape.sources, shape.heads) + own_scores;
  // Gradients of the weights, of the scores and of z; those of the matrix; then, all of what was
  // kept being gone, that of the input.
  const uint64_t matrix = kept + z + gradient_parts(shape, shape.sources);
  const uint64_t handed_on = shape.first ? 0 : z + tensor(shape.sources, shape.in);
  return {.out = out,
          .kept = kept,
          .backward = std::max({kept + weights + own_scores + z, matrix, handed_on})};
}

// gcn and sage sum before they multiply where that is less work; see nn::sum_first.
LayerSize sums_size(const LayerShape& shape) {
  const uint64_t out = tensor(shape.destinations, shape.out);
  const uint64_t parts = gradient_parts(shape, shape.destinations);
  if (shape.first) return {.out = out, .backward = parts};  // its sums are made with the batch
  const uint64_t edges = shape.edges + shape.destinations;
  const uint64_t square = shape.in * shape.out;
  const bool sums_first =
      edges * shape.in + shape.destinations * square <= edges * shape.out + shape.sources * square;
  const uint64_t handed_on = tensor(shape.sources, shape.in);
  const uint64_t product = tensor(shape.sources, shape.out);
  if (!sums_first) {
    const uint64_t most = std::max(gradient_parts(shape, shape.sources), handed_on);
    return {.out = out, .forward = product, .backward = product + most};
  }
  const uint64_t sums = tensor(shape.destinations, shape.in);
  return {.out = out, .kept = sums, .backward = sums + std::max(parts, handed_on)};
}

LayerSize size_of(ModelKind model, const LayerShape& shape) {
  switch (model) {
    case ModelKind::gat:
      return attention_size(shape);
    case ModelKind::gcn:
    case ModelKind::sage:
      return sums_size(shape);
    case ModelKind::mlp:
      break;
  }
  return {.out = tensor(shape.destinations, shape.out),
          .backward = std::max(gradient_parts(shape, shape.destinations),
                               shape.first ? 0 : tensor(shape.destinations, shape.in))};
}

LayerShape shape_of(const Work& work, size_t layer) {
  const BatchSize& batch = work.probe.largest;
  const size_t layers = work.recipe.fanout.size();
  const bool last = layer + 1 == layers;
  LayerShape shape{.sources = batch.seeds,
                   .destinations = batch.seeds,
                   .in = layer == 0 ? work.store.columns : work.recipe.hidden,
                   .out = last ? work.store.classes : work.recipe.hidden,
                   .heads = last ? 1 : work.recipe.heads,
                   .first = layer == 0};
  if (work.recipe.model == ModelKind::mlp) return shape;
  const HopSize& hop = batch.hops[layers - 1 - layer];
  shape.destinations = hop.destinations;
  shape.edges = hop.edges;
  shape.sources = layer == 0 ? batch.nodes : batch.hops[layers - layer].destinations;
  return shape;
}

}  // namespace

uint64_t activation_bytes(const Work& work) {
  std::vector<LayerSize> layers;
  for (size_t i = 0; i < work.recipe.fanout.size(); ++i) {
    layers.push_back(size_of(work.recipe.model, shape_of(work, i)));
    // Batch norm keeps what it was given.
    if (work.recipe.batch_norm && i + 1 < work.recipe.fanout.size())
      layers[i].kept += layers[i].out;
  }
  if (layers.empty()) return 0;
  uint64_t kept = 0;
  uint64_t most = 0;
  for (const LayerSize& layer : layers) {
    kept += layer.out + layer.kept;
    most = std::max(most, kept + layer.forward);
  }
  const uint64_t logits = layers.back().out;
  most = std::max(most, kept + 2 * logits);  // the loss: its gradient, the labels
  const uint64_t from_the_loss = 2 * logits;
  uint64_t gradient = 0;  // of this layer's values; the last one's is the loss's
  for (size_t i = layers.size(); i-- > 0;) {
    kept -= layers[i].out + layers[i].kept;
    most = std::max(most,
                    kept + from_the_loss + gradient + std::max(layers[i].kept, layers[i].backward));
    if (i == 0) break;
    gradient = layers[i - 1].out;
    // Of batch norm's own there are two for a moment.
    if (work.recipe.batch_norm) most = std::max(most, kept + from_the_loss + 2 * gradient);
  }
  const uint64_t bytes = most * sizeof(float);
  return bytes + bytes / kVaries + kSmallTensors;
}

}  // namespace plimsoll::plan
