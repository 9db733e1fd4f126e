#include "batch/first_layer.h"

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

}  // namespace plimsoll::batch
