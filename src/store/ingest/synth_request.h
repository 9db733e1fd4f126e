// What a user asks of the generator: a preset, perhaps scaled, with values that replace its own, or
// a graph of free shape.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ingest/synth.h"

namespace plimsoll::ingest {

// Nothing: as in the preset, or the default.
struct SynthRequest {
  std::string preset;
  double scale = 1;
  std::optional<uint64_t> nodes;
  std::optional<uint64_t> edges;
  std::optional<uint32_t> classes;
  std::optional<uint32_t> features;
  std::optional<double> homophily;
  std::optional<double> signal;
  uint64_t seed = 0;
};

// Null if there is no preset of this name.
const SynthPreset* find_preset(const std::string& name);

// A graph of so many nodes without a preset: all nodes are labelled and split 60 : 20 : 20.
SynthOptions free_shape(uint64_t nodes);

// Throws Error{usage} that names what is missing or invalid.
SynthOptions shape_of(const SynthRequest& request);

// For meta.json: what makes the same graph again.
nlohmann::json describe_generator(const SynthRequest& request, const SynthOptions& shape);

}  // namespace plimsoll::ingest
