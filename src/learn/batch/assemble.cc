#include "batch/assemble.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace plimsoll::batch {

using graph::FirstLayer;
using recipe::ModelKind;

ModelKind model_of(FirstLayer first_layer) {
  return first_layer == FirstLayer::gcn ? ModelKind::gcn : ModelKind::sage;
}

Assembly assembly_for(ModelKind kind, recipe::Norm norm) {
  switch (kind) {
    case ModelKind::gcn:
      return {Input::aggregated,
              norm == recipe::Norm::full ? Weighting::gcn_full : Weighting::gcn_sampled};
    case ModelKind::sage:
      return {Input::aggregated_and_own, Weighting::mean};
    case ModelKind::gat:
    case ModelKind::mlp:
      break;
  }
  return {Input::rows, Weighting::none};
}

Assembly assembly_for(const recipe::Recipe& recipe, FirstLayer first_layer) {
  Assembly assembly = assembly_for(recipe.model, recipe.norm);
  assembly.precomputed = first_layer != FirstLayer::none;
  return assembly;
}

std::vector<uint32_t> drawn_fanout(const recipe::Recipe& recipe, FirstLayer first_layer) {
  if (recipe.model == ModelKind::mlp) return {};
  std::vector<uint32_t> fanout = recipe.fanout;
  if (first_layer != FirstLayer::none && !fanout.empty()) fanout.back() = 0;
  return fanout;
}

void check_first_layer(const graph::Store& store, const recipe::Recipe& recipe) {
  const FirstLayer first_layer = store.meta().first_layer;
  if (first_layer == FirstLayer::none) return;
  const std::string folder = store.folder().string();
  if (recipe.model != model_of(first_layer)) {
    fail(
        ErrorKind::usage,
        "{} holds the sums of {}'s first layer, which {} cannot use; give --model {}, or the store "
        "it was made from",
        folder, name(first_layer), name(recipe.model), name(first_layer));
  }
  if (recipe.fanout.empty() || recipe.fanout.back() != recipe::kAllNeighbors) {
    std::vector<uint32_t> fitting = recipe.fanout;
    if (!fitting.empty()) fitting.back() = recipe::kAllNeighbors;
    fail(ErrorKind::usage,
         "{} holds the first layer's sums over all neighbours, so the last fan-out must be all: "
         "--fanout {}, not {}",
         folder, recipe::format_fanout(fitting), recipe::format_fanout(recipe.fanout));
  }
  if (recipe.model == ModelKind::gcn && recipe.norm == recipe::Norm::sampled) {
    fail(ErrorKind::usage,
         "{} holds sums that are weighted by the degrees of the whole graph; --norm sampled needs "
         "the store it was made from",
         folder);
  }
}

// A counting sort. next[s] is the position of the next edge of s. At the end it is the beginning of
// s + 1, so `next` is source_offsets shifted by one.
void sort_by_source(const Block& block, const EdgesBySource& out) {
  const auto next = out.source_offsets.subspan(1);
  std::fill(out.source_offsets.begin(), out.source_offsets.end(), 0);
  for (const uint32_t source : block.indices) ++next[source + 1];
  for (uint32_t s = 0; s < block.sources; ++s) next[s + 1] += next[s];
  for (uint32_t i = 0; i < block.destinations; ++i) {
    for (uint32_t e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
      const uint32_t place = next[block.indices[e]]++;
      out.by_source[place] = i;
      out.source_edges[place] = e;
    }
  }
}

float one_over_root(uint64_t value) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(value)));
}

Assembler::Assembler(memory::Ledger& ledger, size_t hops, BatchPages pages)
    : neighborhood_(ledger, hops, pages.blocks),
      labels_(ledger, "batches", pages.blocks),
      places_(ledger, "batches"),
      input_(ledger, "batches", pages.rows),
      own_(ledger, "batches", pages.blocks),
      flat_(ledger, pages.rows) {
  const auto array = [&]<typename T>(T) {
    return memory::Growing<T>(ledger, "batches", pages.blocks);
  };
  for (size_t i = 0; i < hops; ++i) {
    arrays_.push_back({array(0.0F), array(0.0F), array(0.0F), array(0U), array(0U), array(0U)});
  }
}

uint64_t Assembler::bytes_needed(const sample::BatchSize& size, const Assembly& assembly,
                                 uint64_t columns, bool reads_disk) {
  using Words = memory::Growing<uint32_t>;  // as large as floats
  const size_t hops = size.hops.size();
  const bool aggregated = assembly.input != Input::rows;
  const size_t blocks = hops - (aggregated && hops > 0 ? 1 : 0);
  uint64_t bytes = sample::Neighborhood::bytes_needed(size, assembly.needs_all_degrees()) +
                   Words::renewed_bytes(size.seeds);
  for (size_t hop = 0; hop < (assembly.precomputed ? blocks : hops); ++hop) {
    const uint64_t destinations = size.hops[hop].destinations;
    if (assembly.weighting == Weighting::none) continue;
    bytes += Words::renewed_bytes(destinations);
    if (assembly.weighting == Weighting::mean) continue;
    bytes += Words::renewed_bytes(size.sources(hop)) + Words::renewed_bytes(destinations);
  }
  for (size_t hop = 0; assembly.gradients && hop < blocks; ++hop) {
    bytes += Words::renewed_bytes(size.sources(hop) + 2) +
             2 * Words::renewed_bytes(size.hops[hop].edges);
  }
  const uint64_t rows = aggregated && hops > 0 ? size.hops.back().destinations : size.nodes;
  const bool with_own = assembly.input == Input::aggregated_and_own;
  if (assembly.precomputed && with_own) columns /= 2;
  bytes += Words::renewed_bytes(rows * columns) * (with_own ? 2 : 1);
  if (reads_disk) bytes += Words::renewed_bytes(size.nodes);
  return bytes;
}

void Assembler::weigh(Weighting weighting, size_t hop) {
  const sample::Hop& block = neighborhood_.hops[hop];
  Arrays& arrays = arrays_[hop];
  if (weighting == Weighting::none) return;
  arrays.destination_scale.renew(block.destinations);
  if (weighting == Weighting::mean) {
    for (uint32_t i = 0; i < block.destinations; ++i) {
      const uint32_t degree = block.degree(i);
      arrays.destination_scale[i] = degree == 0 ? 0 : 1.0F / static_cast<float>(degree);
    }
    return;
  }
  arrays.source_scale.renew(block.sources);
  arrays.self_scale.renew(block.destinations);
  if (weighting == Weighting::gcn_full) {
    weigh_by_graph(hop);
  } else {
    weigh_by_sample(hop);
  }
}

// In the full sum of destination i, neighbour j has the weight 1 / (root(d_i + 1) * root(d_j + 1)).
// Of the d_i neighbours only k_i were sampled, so each of them counts d_i / k_i times.
void Assembler::weigh_by_graph(size_t hop) {
  const sample::Hop& block = neighborhood_.hops[hop];
  Arrays& arrays = arrays_[hop];
  for (uint32_t j = 0; j < block.sources; ++j) {
    const uint64_t degree = neighborhood_.degrees[j];
    const float root = one_over_root(degree + 1);
    arrays.source_scale[j] = root;
    if (j >= block.destinations) continue;
    const uint32_t drawn = block.degree(j);
    arrays.self_scale[j] = root * root;
    arrays.destination_scale[j] =
        drawn == 0 ? 0 : root * (static_cast<float>(degree) / static_cast<float>(drawn));
  }
}

// Counts degrees like PyTorch Geometric in a sampled subgraph: the sampled edges of a node plus one
// for itself. The outermost nodes have only the latter.
void Assembler::weigh_by_sample(size_t hop) {
  const sample::Hop& block = neighborhood_.hops[hop];
  const bool outermost = hop + 1 == neighborhood_.hops.size();
  Arrays& arrays = arrays_[hop];
  for (uint32_t j = 0; j < block.sources; ++j) {
    const bool inner = j < block.destinations;
    uint32_t drawn = 0;
    if (inner) {
      drawn = block.degree(j);
    } else if (!outermost) {
      drawn = neighborhood_.hops[hop + 1].degree(j);
    }
    const float root = one_over_root(uint64_t{drawn} + 1);
    arrays.source_scale[j] = root;
    if (!inner) continue;
    arrays.destination_scale[j] = root;
    arrays.self_scale[j] = root * root;
  }
}

Block Assembler::view(size_t hop, Weighting weighting) const {
  const sample::Hop& drawn = neighborhood_.hops[hop];
  const Arrays& arrays = arrays_[hop];
  Block block{.destinations = drawn.destinations,
              .sources = drawn.sources,
              .offsets = drawn.offsets.first(uint64_t{drawn.destinations} + 1),
              .indices = drawn.indices.first(drawn.edges())};
  if (weighting == Weighting::none) return block;
  block.destination_scale = arrays.destination_scale.first(drawn.destinations);
  if (weighting == Weighting::mean) return block;
  block.source_scale = arrays.source_scale.first(drawn.sources);
  block.self_scale = arrays.self_scale.first(drawn.destinations);
  return block;
}

void Assembler::add_edges_by_source(size_t hop, Block& block) {
  Arrays& arrays = arrays_[hop];
  const uint64_t edges = block.indices.size();
  arrays.source_offsets.renew(uint64_t{block.sources} + 2);
  arrays.by_source.renew(edges);
  arrays.source_edges.renew(edges);
  const EdgesBySource sorted = {arrays.source_offsets.first(uint64_t{block.sources} + 2),
                                arrays.by_source.first(edges), arrays.source_edges.first(edges)};
  sort_by_source(block, sorted);
  block.source_offsets = sorted.source_offsets.first(uint64_t{block.sources} + 1);
  block.by_source = sorted.by_source;
  block.source_edges = sorted.source_edges;
}

void Assembler::prepare(const Assembly& assembly, uint32_t columns) {
  assembly_ = assembly;
  const bool aggregated = assembly.input != Input::rows;
  const size_t hops = neighborhood_.hops.size();
  const size_t blocks = hops - (aggregated ? 1 : 0);
  for (size_t hop = 0; hop < (assembly.precomputed ? blocks : hops); ++hop) {
    weigh(assembly.weighting, hop);
  }
  batch_.blocks.clear();
  for (size_t hop = blocks; hop-- > 0;) {
    batch_.blocks.push_back(view(hop, assembly.weighting));
    if (assembly.gradients) add_edges_by_source(hop, batch_.blocks.back());
  }
  batch_.nodes = neighborhood_.nodes.first(neighborhood_.node_count());
  batch_.seeds = neighborhood_.seeds;
  const uint64_t rows = aggregated ? summed_hop().destinations : neighborhood_.node_count();
  const bool with_own = assembly.input == Input::aggregated_and_own;
  if (assembly.precomputed && with_own) columns /= 2;
  input_.renew(rows * columns);
  batch_.input = {input_.data(), rows, columns};
  if (!with_own) return;
  own_.renew(rows * columns);
  batch_.own = {own_.data(), rows, columns};
}

void Assembler::fill(const kernel::Rows& rows, const uint32_t* places) {
  const Part all = {.last = batch_.input.rows};
  if (assembly_.input == Input::rows) {
    fill_rows(rows, places, all);
    return;
  }
  fill_sums(rows, places, all);
  if (assembly_.input == Input::aggregated_and_own) fill_own(rows, places, all);
}

void Assembler::fill_rows(const kernel::Rows& rows, const uint32_t* places, const Part& part) {
  kernel::best().gather({.rows = rows,
                         .nodes = places,
                         .out = input_.data(),
                         .first = part.first,
                         .last = part.last});
}

void Assembler::fill_sums(const kernel::Rows& rows, const uint32_t* places, const Part& part) {
  if (assembly_.precomputed) {
    kernel::Rows sums = rows;
    sums.columns = static_cast<uint32_t>(batch_.input.columns);
    fill_rows(sums, places, part);
    return;
  }
  const Block block = view(neighborhood_.hops.size() - 1, assembly_.weighting);
  kernel::best().aggregate({.rows = rows,
                            .nodes = places,
                            .offsets = block.offsets.data(),
                            .indices = block.indices.data(),
                            .destination_scale = block.destination_scale.data(),
                            .source_scale = block.source_scale.data(),
                            .self_scale = block.self_scale.data(),
                            .from_edge = part.from_edge,
                            .to_edge = part.to_edge,
                            .out = input_.data(),
                            .first = part.first,
                            .last = part.last});
}

void Assembler::fill_own(const kernel::Rows& rows, const uint32_t* places, const Part& part) {
  kernel::Rows own = rows;
  if (assembly_.precomputed) {
    own.columns = static_cast<uint32_t>(batch_.own.columns);
    own.data += own.columns * (rows.half ? sizeof(uint16_t) : sizeof(float));
  }
  kernel::best().gather(
      {.rows = own, .nodes = places, .out = own_.data(), .first = part.first, .last = part.last});
}

}  // namespace plimsoll::batch
