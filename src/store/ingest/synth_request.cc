#include "ingest/synth_request.h"

#include "base/error.h"

namespace plimsoll::ingest {

const SynthPreset* find_preset(const std::string& name) {
  for (const SynthPreset& preset : synth_presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

SynthOptions free_shape(uint64_t nodes) {
  return {.nodes = nodes,
          .classes = 16,
          .feature_columns = 128,
          .train = nodes - nodes / 5 * 2,
          .valid = nodes / 5,
          .test = nodes / 5,
          .homophily = 0.3,
          .signal = 2.5};
}

SynthOptions shape_of(const SynthRequest& request) {
  const SynthPreset* preset = find_preset(request.preset);
  if (!(request.scale > 0 && request.scale <= 1000)) {
    fail(ErrorKind::usage, "--scale {}: more than 0 and at most 1000", request.scale);
  }
  if (preset == nullptr && (!request.nodes || !request.edges)) {
    fail(ErrorKind::usage, "give a preset (papers100M, arxiv, products), or --nodes and --edges");
  }
  // The scale applies to the preset only. Numbers that the user gave are not scaled, and the splits
  // follow the number of nodes.
  SynthOptions shape =
      preset == nullptr ? free_shape(*request.nodes) : scaled(preset->options, request.scale);
  if (preset != nullptr && request.nodes) {
    const uint64_t edges = shape.edges;
    shape = scaled(shape, static_cast<double>(*request.nodes) / static_cast<double>(shape.nodes));
    shape.edges = edges;
  }
  shape.nodes = request.nodes.value_or(shape.nodes);
  shape.edges = request.edges.value_or(shape.edges);
  shape.classes = request.classes.value_or(shape.classes);
  shape.feature_columns = request.features.value_or(shape.feature_columns);
  shape.homophily = request.homophily.value_or(shape.homophily);
  shape.signal = request.signal.value_or(shape.signal);
  shape.seed = request.seed;
  check(shape);
  return shape;
}

nlohmann::json describe_generator(const SynthRequest& request, const SynthOptions& shape) {
  return {{"preset", request.preset.empty() ? "none" : request.preset},
          {"scale", request.scale},
          {"seed", shape.seed},
          {"homophily", shape.homophily},
          {"signal", shape.signal},
          {"edges", shape.edges}};
}

}  // namespace plimsoll::ingest
