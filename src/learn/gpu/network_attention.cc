// The work of a gat layer. First its weight multiplies the rows of all sources; a node that was
// drawn several times is several sources. Then every result is a weighted sum: the products of its
// draws, and its own.
#include "gpu/network.h"

namespace plimsoll::gpu {

LayerEdges Network::edges_of(size_t layer) const {
  const uint64_t heads = is_last(layer) ? 1 : shape_.recipe.heads;
  return {.nodes = nodes_.data(),
          .positions = static_cast<uint32_t>(results(layer)),
          .fanout = fanout_of(layer),
          .heads = static_cast<uint32_t>(heads),
          .channels = static_cast<uint32_t>(outputs(layer) / heads)};
}

void Network::attend(size_t layer) {
  const LayerParameters& parameters = parameters_.layers[layer];
  const Attention& attention = attention_[layer];
  const uint64_t sources = multiplied_rows(shape_.recipe, positions_, layer);
  const LayerEdges edges = edges_of(layer);
  const uint32_t lanes = lanes_of(outputs(layer));
  device_.multiply({.rows = sources,
                    .columns = outputs(layer),
                    .inner = inputs(layer),
                    .a = multiplied(layer),
                    .a_step = inputs(layer),
                    .b = parameters.weight,
                    .b_step = inputs(layer),
                    .b_transposed = true,
                    .c = attention.z.data(),
                    .c_step = outputs(layer)});
  device_.run(ScoreSources{.edges = edges,
                           .z = attention.z.data(),
                           .att_src = parameters.att_src,
                           .att_dst = parameters.att_dst,
                           .scores = attention.scores.data(),
                           .own_scores = attention.own_scores.data(),
                           .threads = static_cast<uint32_t>(sources) * edges.heads});
  device_.run(WeighSources{.edges = edges,
                           .scores = attention.scores.data(),
                           .own_scores = attention.own_scores.data(),
                           .weights = attention.weights.data(),
                           .threads = edges.positions * edges.heads});
  device_.run(SumSources{.edges = edges,
                         .z = attention.z.data(),
                         .weights = attention.weights.data(),
                         .out = results_of(layer),
                         .lanes = lanes,
                         .threads = edges.positions * lanes});
}

// From the gradient of the layer's results to that of its products, which takes their place.
void Network::take_back_attention(size_t layer) {
  const LayerParameters& parameters = parameters_.layers[layer];
  const Attention& attention = attention_[layer];
  const auto sources = static_cast<uint32_t>(multiplied_rows(shape_.recipe, positions_, layer));
  const LayerEdges edges = edges_of(layer);
  device_.run(GradeWeights{.edges = edges,
                           .z = attention.z.data(),
                           .gradient = results_of(layer),
                           .gradients = score_gradients_.data(),
                           .threads = sources * edges.heads});
  device_.run(GradeScores{.edges = edges,
                          .scores = attention.scores.data(),
                          .own_scores = attention.own_scores.data(),
                          .weights = attention.weights.data(),
                          .gradients = score_gradients_.data(),
                          .own_gradients = own_score_gradients_.data(),
                          .threads = edges.positions * edges.heads});
  const auto add_up = [&](uint32_t rows, const float* gradients, float* out) {
    add_up_rows({.values = attention.z.data(),
                 .row_step = outputs(layer),
                 .column_step = 1,
                 .rows = rows,
                 .columns = static_cast<uint32_t>(outputs(layer)),
                 .factors = gradients,
                 .heads = edges.heads},
                out);
  };
  add_up(sources, score_gradients_.data(), parameters.att_src_gradient);
  add_up(edges.positions, own_score_gradients_.data(), parameters.att_dst_gradient);
  GradeSources grade = {.edges = edges,
                        .z = attention.z.data(),
                        .gradient = results_of(layer),
                        .weights = attention.weights.data(),
                        .gradients = score_gradients_.data(),
                        .own_gradients = own_score_gradients_.data(),
                        .att_src = parameters.att_src,
                        .att_dst = parameters.att_dst,
                        .lanes = lanes_of(outputs(layer))};
  grade.threads = sources * grade.lanes;
  device_.run(grade);
}

}  // namespace plimsoll::gpu
