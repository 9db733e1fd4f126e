#include "nn/footprint.h"

#include <algorithm>
#include <vector>

#include "base/units.h"
#include "nn/threads.h"

namespace plimsoll::nn {
namespace {

using recipe::ModelKind;
using sample::BatchSize;

constexpr uint64_t kVaries = 32;              // add 1/32 for batches that are larger than expected
constexpr uint64_t kSmallTensors = 1 * kMiB;  // for tensors that are not counted
constexpr uint64_t kModelArrays = 2;          // values and gradients (nn/model.cc)

uint64_t tensor(uint64_t rows, uint64_t columns) {
  return tensor_room_bytes(rows * columns * sizeof(float));
}

uint64_t columns_into(const Dimensions& model, size_t layer) {
  return layer == 0 ? model.inputs : model.hidden;
}
uint64_t columns_out_of(const Dimensions& model, size_t layer) {
  return layer + 1 == model.layers ? model.classes : model.hidden;
}

// In bytes.
struct LayerSize {
  uint64_t out = 0;       // its output
  uint64_t kept = 0;      // kept from forward to backward, without the output
  uint64_t forward = 0;   // temporary memory of forward
  uint64_t backward = 0;  // memory of backward, including what forward kept
};

struct LayerShape {
  uint64_t sources = 0;
  uint64_t destinations = 0;
  uint64_t edges = 0;
  uint64_t in = 0;
  uint64_t out = 0;
  uint64_t heads = 1;
  bool first = false;   // the gradient of its input is not needed
  bool summed = false;  // its sums are already in the batch
};

// The parts of a weight's gradient, except the first (nn/threads.h).
uint64_t gradient_parts(const LayerShape& shape, uint64_t rows) {
  const uint64_t values = shape.in * shape.out;
  const auto parts =
      static_cast<uint64_t>(most_parts(static_cast<int64_t>(rows), static_cast<int64_t>(values)));
  return parts < 2 ? 0 : tensor(parts - 1, values);
}

LayerSize attention_size(const LayerShape& shape) {
  const uint64_t z = tensor(shape.sources, shape.out);
  const uint64_t weights = tensor(shape.edges + shape.destinations, shape.heads);
  const uint64_t own_scores = tensor(shape.destinations, shape.heads);
  const uint64_t out = tensor(shape.destinations, shape.out);
  const uint64_t kept = z + weights + tensor(shape.sources, shape.heads) + own_scores;
  const uint64_t partial = tensor(kAttentionChunks, 2 * shape.out);
  // First the gradients of the weights, the scores and z; then of the matrix; then, after what was
  // kept is released, of the input.
  const uint64_t matrix = kept + z + gradient_parts(shape, shape.sources);
  const uint64_t handed_on = shape.first ? 0 : z + tensor(shape.sources, shape.in);
  return {.out = out,
          .kept = kept,
          .backward = std::max({kept + weights + own_scores + z + partial, matrix, handed_on})};
}

// gcn and sage sum before they multiply if that is less work; see nn::sum_first.
LayerSize sums_size(const LayerShape& shape) {
  const uint64_t out = tensor(shape.destinations, shape.out);
  const uint64_t parts = gradient_parts(shape, shape.destinations);
  if (shape.summed) return {.out = out, .backward = parts};
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
  // The product's gradient exists while it is summed back.
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

LayerShape shape_of(const Dimensions& model, size_t layer, const BatchSize& batch) {
  const bool last = layer + 1 == model.layers;
  const bool sums = model.kind == ModelKind::gcn || model.kind == ModelKind::sage;
  LayerShape shape{.sources = batch.seeds,
                   .destinations = batch.seeds,
                   .in = columns_into(model, layer),
                   .out = columns_out_of(model, layer),
                   .heads = last ? 1 : model.heads,
                   .first = layer == 0,
                   .summed = layer == 0 && sums};
  if (model.kind == ModelKind::mlp || batch.hops.empty()) return shape;
  const size_t hop = model.layers - 1 - layer;
  shape.destinations = batch.hops[hop].destinations;
  shape.edges = batch.hops[hop].edges;
  shape.sources = batch.sources(hop);
  return shape;
}

uint64_t with_margin(uint64_t bytes) { return bytes + bytes / kVaries + kSmallTensors; }

}  // namespace

uint64_t parameter_count(const Dimensions& model) {
  uint64_t count = 0;
  for (size_t layer = 0; layer < model.layers; ++layer) {
    const uint64_t in = columns_into(model, layer);
    const uint64_t out = columns_out_of(model, layer);
    count += in * out * (model.kind == ModelKind::sage ? 2 : 1) + out;
    if (model.kind == ModelKind::gat) count += 2 * out;
    if (model.batch_norm && layer + 1 < model.layers) count += 2 * out;
  }
  return count;
}

uint64_t parameter_bytes(const Dimensions& model) {
  return tensor_room_bytes(parameter_count(model) * sizeof(float));
}

uint64_t model_bytes(const Dimensions& model) {
  return (kModelArrays + kAdamArrays) * parameter_bytes(model);
}

uint64_t activation_bytes(const Dimensions& model, const BatchSize& batch) {
  if (model.layers == 0) return 0;
  std::vector<LayerSize> layers;
  for (size_t i = 0; i < model.layers; ++i) {
    layers.push_back(size_of(model.kind, shape_of(model, i, batch)));
    // Batch norm keeps its input.
    if (model.batch_norm && i + 1 < model.layers) layers[i].kept += layers[i].out;
  }
  uint64_t kept = 0;
  uint64_t most = 0;
  for (const LayerSize& layer : layers) {
    kept += layer.out + layer.kept;
    most = std::max(most, kept + layer.forward);
  }
  const uint64_t logits = layers.back().out;
  most = std::max(most, kept + 2 * logits);  // for the loss: its gradient, the labels
  const uint64_t from_the_loss = 2 * logits;
  uint64_t gradient = 0;  // of this layer's output; for the last layer it is counted as the loss's
  for (size_t i = layers.size(); i-- > 0;) {
    kept -= layers[i].out + layers[i].kept;
    most = std::max(most,
                    kept + from_the_loss + gradient + std::max(layers[i].kept, layers[i].backward));
    if (i == 0) break;
    gradient = layers[i - 1].out;
    // Batch norm needs two gradients at the same time.
    const uint64_t beside = model.batch_norm ? gradient : 0;
    most = std::max(most, kept + from_the_loss + gradient + beside);
  }
  // Batch norm's sums over all rows, in parts: twice as many doubles as columns.
  const bool sums = model.batch_norm && model.layers > 1;
  if (sums) most += tensor_room_bytes(kMostParts * 2 * model.hidden * sizeof(double));
  return with_margin(most);
}

uint64_t inference_bytes(const Dimensions& model, const BatchSize& batch) {
  uint64_t most = 0;
  uint64_t input = 0;  // the output of the layer before
  for (size_t i = 0; i < model.layers; ++i) {
    const LayerSize size = size_of(model.kind, shape_of(model, i, batch));
    // Batch norm makes a second tensor of the output's size.
    const uint64_t out = (model.batch_norm ? 2 : 1) * size.out;
    most = std::max(most, input + size.kept + size.forward + out);
    input = size.out;
  }
  return with_margin(most);
}

uint64_t layer_bytes(const Dimensions& model, size_t layer, const BatchSize& batch) {
  LayerShape shape{.sources = batch.nodes,
                   .destinations = batch.seeds,
                   .edges = batch.hops.empty() ? 0 : batch.hops.front().edges,
                   .in = columns_into(model, layer),
                   .out = columns_out_of(model, layer),
                   .heads = layer + 1 == model.layers ? 1 : model.heads,
                   .summed = model.kind == ModelKind::gcn || model.kind == ModelKind::sage};
  const LayerSize size = size_of(model.kind, shape);
  // Batch norm makes a second tensor of the output's size.
  return with_margin(size.kept + size.forward + (model.batch_norm ? 2 : 1) * size.out);
}

}  // namespace plimsoll::nn
