// plimsoll synth: generates a synthetic citation graph of any size, as a store or as the files of
// an OGB data set.
#include "ingest/synth.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/making.h"
#include "formats/ogb_folder.h"

namespace plimsoll::cli {
namespace {

using ingest::SynthOptions;
using ingest::SynthPreset;

// What the user gave. Empty values are taken from the preset, or else are defaults.
struct Options {
  MakingOptions making;
  DirectionFlags direction;
  std::string preset;
  double scale = 1;
  std::optional<uint64_t> nodes;
  std::optional<uint64_t> edges;
  std::optional<uint32_t> classes;
  std::optional<uint32_t> features;
  std::optional<double> homophily;
  std::optional<double> signal;
  uint64_t seed = 0;
  std::string feature_type = "f16";
  std::string format = "store";
  bool stored = false;
};

const SynthPreset* find_preset(const std::string& name) {
  for (const SynthPreset& preset : ingest::synth_presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

// A graph without a preset: all nodes are labelled and split 60 : 20 : 20.
SynthOptions own_shape(const Options& options) {
  if (!options.nodes || !options.edges) {
    fail(ErrorKind::usage, "give a preset (papers100M, arxiv, products), or --nodes and --edges");
  }
  const uint64_t nodes = *options.nodes;
  return {.nodes = nodes,
          .classes = 16,
          .feature_columns = 128,
          .train = nodes - nodes / 5 * 2,
          .valid = nodes / 5,
          .test = nodes / 5,
          .homophily = 0.3,
          .signal = 2.5};
}

SynthOptions choose(const Options& options, const SynthPreset* preset) {
  if (!(options.scale > 0 && options.scale <= 1000)) {
    fail(ErrorKind::usage, "--scale {}: more than 0 and at most 1000", options.scale);
  }
  // The scale applies to the preset only. Numbers that the user gave are not scaled, and the splits
  // follow the number of nodes.
  SynthOptions shape =
      preset == nullptr ? own_shape(options) : scaled(preset->options, options.scale);
  if (preset != nullptr && options.nodes) {
    const uint64_t edges = shape.edges;
    shape = scaled(shape, static_cast<double>(*options.nodes) / static_cast<double>(shape.nodes));
    shape.edges = edges;
  }
  shape.nodes = options.nodes.value_or(shape.nodes);
  shape.edges = options.edges.value_or(shape.edges);
  shape.classes = options.classes.value_or(shape.classes);
  shape.feature_columns = options.features.value_or(shape.feature_columns);
  shape.homophily = options.homophily.value_or(shape.homophily);
  shape.signal = options.signal.value_or(shape.signal);
  shape.seed = options.seed;
  check(shape);
  return shape;
}

nlohmann::json describe_generator(const Options& options, const SynthOptions& shape) {
  return {{"preset", options.preset.empty() ? "none" : options.preset},
          {"scale", options.scale},
          {"seed", shape.seed},
          {"homophily", shape.homophily},
          {"signal", shape.signal},
          {"edges", shape.edges}};
}

// Refuses options that would have no effect.
void check_format(const Options& options) {
  if (options.format == "store" && options.stored) {
    fail(ErrorKind::usage, "--stored needs --format ogb");
  }
  const bool shapes_store = options.direction.directed || options.direction.undirected ||
                            options.feature_type != "f16" || options.making.order != "visits";
  if (options.format == "ogb" && shapes_store) {
    fail(ErrorKind::usage,
         "--format ogb writes edges as they are and features as float32; give --directed, "
         "--undirected, --feature-type and --order to plimsoll import instead");
  }
}

void synth(const Options& options) {
  check_format(options);
  const SynthPreset* preset = find_preset(options.preset);
  const SynthOptions shape = choose(options, preset);
  ingest::SynthGraph source(shape);
  Making making(options.making);
  making.headline(
      fmt::format("generating {}: {}, {}, {}, {}", preset == nullptr ? "a graph" : options.preset,
                  counted(shape.nodes, "node"), counted(shape.edges, "edge"),
                  counted(shape.classes, "class"), counted(shape.feature_columns, "feature")));
  making.say("chosen", fmt::format("homophily {}, signal {}, seed {}", shape.homophily,
                                   shape.signal, shape.seed));
  making.say("split", fmt::format("train {}, valid {}, test {}", format_count(shape.train),
                                  format_count(shape.valid), format_count(shape.test)));
  if (options.format == "ogb") {
    const bool csv = preset != nullptr && preset->layout == "csv";
    formats::write_ogb_folder(
        source,
        {.out = options.making.out,
         .replace = options.making.force,
         .layout = csv ? formats::OgbLayout::csv : formats::OgbLayout::npz,
         .deflate = !options.stored,
         .split_name = options.preset == "products" ? "sales_ranking" : "time",
         .temp_dir = options.making.temp_folder},
        making.ledger(), making.progress());
    making.progress().finish_step();
    making.summarize(fmt::format("{}, {}, in the layout of OGB", counted(shape.nodes, "node"),
                                 counted(shape.edges, "edge")),
                     {{"nodes", shape.nodes}, {"edges", shape.edges}});
    return;
  }
  const graph::Direction direction = options.direction.or_else(graph::Direction::undirected);
  making.say("edges",
             direction == graph::Direction::undirected
                 ? "undirected: reverse edges added, duplicates removed (--directed keeps the "
                   "edges as generated)"
                 : "directed, as generated");
  making.build_store(source,
                     {.direction = direction,
                      .features = feature_type(options.feature_type),
                      .source = {{"name", options.preset.empty() ? "synth" : options.preset},
                                 {"generator", describe_generator(options, shape)}}});
}

}  // namespace

void add_synth(CLI::App& app) {
  CLI::App* command = app.add_subcommand("synth", "Generate a graph for tests and measurements");
  auto options = std::make_shared<Options>();
  std::vector<std::string> presets;
  for (const SynthPreset& preset : ingest::synth_presets()) presets.emplace_back(preset.name);
  command->add_option("PRESET", options->preset, "the data set to imitate")
      ->check(CLI::IsMember(presets));
  command
      ->add_option("--scale", options->scale,
                   "multiply the preset's numbers of nodes, edges and split nodes by this")
      ->type_name("X")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "random seed; another seed gives another graph")
      ->check(whole_number(0, std::numeric_limits<uint64_t>::max()))
      ->type_name("N")
      ->capture_default_str();
  constexpr const char* kShape = "Shape (default: the preset's)";
  command->add_option("--nodes", options->nodes, "number of nodes")
      ->type_name("N")
      ->check(whole_number(100, 0xffffffffU))
      ->group(kShape);
  command->add_option("--edges", options->edges, "number of directed edges")
      ->type_name("N")
      ->check(whole_number(1, uint64_t{1} << 40))
      ->group(kShape);
  command->add_option("--classes", options->classes, "number of classes")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000))
      ->group(kShape);
  command
      ->add_option("--features", options->features,
                   "number of feature columns; for their type see --feature-type")
      ->type_name("N")
      ->check(whole_number(1, 65536))
      ->group(kShape);
  command
      ->add_option("--homophily", options->homophily,
                   "share of edges that stay within a class, 0 to 1")
      ->type_name("SHARE")
      ->group(kShape);
  command
      ->add_option("--signal", options->signal,
                   "how much the features say about the class: the distance of a class's mean from "
                   "the overall mean, in standard deviations of the noise; 0 = nothing")
      ->type_name("X")
      ->group(kShape);
  command
      ->add_option("--format", options->format,
                   "store, or ogb: a folder in the layout of an OGB data set")
      ->check(CLI::IsMember({"store", "ogb"}))
      ->capture_default_str()
      ->group(kOutput);
  command
      ->add_flag("--stored", options->stored, "with --format ogb: do not compress (faster, larger)")
      ->group(kOutput);
  add_direction_flags(*command, options->direction);
  add_feature_type(*command, "--feature-type", options->feature_type);
  add_making_options(*command, options->making);
  command->footer(R"(The same seed gives the same store, byte by byte, with any number of threads.

Examples:
  plimsoll synth papers100M --scale 0.01 --out mini.plim --seed 1
  plimsoll synth --nodes 50000 --edges 400000 --classes 8 --features 32 --out own.plim
  plimsoll synth papers100M --scale 0.001 --format ogb --out raw/)");
  command->callback([options] { synth(*options); });
}

}  // namespace plimsoll::cli
