// plimsoll synth: generates a synthetic citation graph of any size, as a store or as the files of
// an OGB data set.
#include "ingest/synth.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "formats/ogb_folder.h"
#include "ingest/making.h"

namespace plimsoll::cli {
namespace {

using ingest::SynthPreset;

enum class SynthFormat { store, ogb };
std::string_view name(SynthFormat format) { return format == SynthFormat::ogb ? "ogb" : "store"; }

struct SynthCommand {
  ingest::MakingOptions making;
  std::optional<graph::Direction> direction;
  ingest::SynthRequest request;
  graph::FeatureType features = graph::FeatureType::f16;
  SynthFormat format = SynthFormat::store;
  bool stored = false;
};

// Refuses options that would have no effect.
void check_format(const SynthCommand& options) {
  if (options.format == SynthFormat::store && options.stored) {
    fail(ErrorKind::usage, "--stored needs --format ogb");
  }
  const bool shapes_store = options.direction || options.features != graph::FeatureType::f16 ||
                            options.making.order != graph::NodeOrder::visits;
  if (options.format == SynthFormat::ogb && shapes_store) {
    fail(ErrorKind::usage,
         "--format ogb writes edges as they are and features as float32; give --directed, "
         "--undirected, --feature-type and --order to plimsoll import instead");
  }
}

// The layout in which OGB ships the data set that is imitated.
void write_as_ogb(ingest::SynthGraph& source, const SynthCommand& options, ingest::Making& making) {
  const SynthPreset* preset = ingest::find_preset(options.request.preset);
  const bool csv = preset != nullptr && preset->shipped_as == ingest::ShippedAs::csv;
  formats::write_ogb_folder(
      source,
      {.out = options.making.out,
       .replace = options.making.force,
       .layout = csv ? formats::OgbLayout::csv : formats::OgbLayout::npz,
       .deflate = !options.stored,
       .split_name = options.request.preset == "products" ? "sales_ranking" : "time",
       .temp_dir = options.making.temp_folder},
      making.ledger(), making.progress());
  making.progress().finish_step();
  const ingest::Shape& shape = source.shape();
  making.summarize(fmt::format("{}, {}, in the layout of OGB", counted(shape.nodes, "node"),
                               counted(shape.edges, "edge")),
                   {{"nodes", shape.nodes}, {"edges", shape.edges}});
}

void write_store(ingest::SynthGraph& source, const ingest::SynthOptions& shape,
                 const SynthCommand& options, ingest::Making& making) {
  const auto direction = options.direction.value_or(graph::Direction::undirected);
  making.say("edges",
             direction == graph::Direction::undirected
                 ? "undirected: reverse edges added, duplicates removed (--directed keeps the "
                   "edges as generated)"
                 : "directed, as generated");
  const std::string& preset = options.request.preset;
  making.build_store(source,
                     {.direction = direction,
                      .features = options.features,
                      .source = {{"name", preset.empty() ? "synth" : preset},
                                 {"generator", describe_generator(options.request, shape)}}});
}

void synth(const SynthCommand& options) {
  check_format(options);
  const ingest::SynthOptions shape = ingest::synth_options(options.request);
  ingest::Making making(options.making);
  ingest::SynthGraph source(shape, making.ledger());
  making.headline(fmt::format("generating {}: {}, {}, {}, {}",
                              options.request.preset.empty() ? "a graph" : options.request.preset,
                              counted(shape.nodes, "node"), counted(shape.edges, "edge"),
                              counted(shape.classes, "class"),
                              counted(shape.feature_columns, "feature")));
  making.say("chosen", fmt::format("homophily {}, signal {}, seed {}", shape.homophily,
                                   shape.signal, shape.seed));
  making.say("split", fmt::format("train {}, valid {}, test {}", format_count(shape.train),
                                  format_count(shape.valid), format_count(shape.test)));
  if (options.format == SynthFormat::ogb) {
    write_as_ogb(source, options, making);
  } else {
    write_store(source, shape, options, making);
  }
}

}  // namespace

void add_synth(CLI::App& app) {
  CLI::App* command = app.add_subcommand("synth", "Generate a graph for tests and measurements");
  auto options = std::make_shared<SynthCommand>();
  std::vector<std::string> presets;
  for (const SynthPreset& preset : ingest::synth_presets()) presets.emplace_back(preset.name);
  command->add_option("PRESET", options->request.preset, "the data set to imitate")
      ->check(CLI::IsMember(presets));
  command
      ->add_option("--scale", options->request.scale,
                   "multiply the preset's numbers of nodes, edges and split nodes by this")
      ->type_name("X")
      ->capture_default_str();
  command
      ->add_option("--seed", options->request.seed, "random seed; another seed gives another graph")
      ->check(whole_number(0, std::numeric_limits<uint64_t>::max()))
      ->type_name("N")
      ->capture_default_str();
  constexpr const char* kShape = "Shape (default: the preset's)";
  command->add_option("--nodes", options->request.nodes, "number of nodes")
      ->type_name("N")
      ->check(whole_number(100, 0xffffffffU))
      ->group(kShape);
  command->add_option("--edges", options->request.edges, "number of directed edges")
      ->type_name("N")
      ->check(whole_number(1, uint64_t{1} << 40))
      ->group(kShape);
  command->add_option("--classes", options->request.classes, "number of classes")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000))
      ->group(kShape);
  command
      ->add_option("--features", options->request.features,
                   "number of feature columns; for their type see --feature-type")
      ->type_name("N")
      ->check(whole_number(1, 65536))
      ->group(kShape);
  command
      ->add_option("--homophily", options->request.homophily,
                   "share of edges that stay within a class, 0 to 1")
      ->type_name("SHARE")
      ->group(kShape);
  command
      ->add_option("--signal", options->request.signal,
                   "how much the features say about the class: the distance of a class's mean from "
                   "the overall mean, in standard deviations of the noise; 0 = nothing")
      ->type_name("X")
      ->group(kShape);
  add_choice(*command, "--format", options->format, {SynthFormat::store, SynthFormat::ogb},
             "store, or ogb: a folder in the layout of an OGB data set")
      ->group(kOutput);
  command
      ->add_flag("--stored", options->stored, "with --format ogb: do not compress (faster, larger)")
      ->group(kOutput);
  add_direction_flags(*command, options->direction);
  add_feature_type(*command, "--feature-type", options->features);
  add_making_options(*command, options->making);
  command->footer(R"(The same seed gives the same store, byte by byte, with any number of threads.

Examples:
  plimsoll synth papers100M --scale 0.01 --out mini.plim --seed 1
  plimsoll synth --nodes 50000 --edges 400000 --classes 8 --features 32 --out own.plim
  plimsoll synth papers100M --scale 0.001 --format ogb --out raw/)");
  command->callback([options] { synth(*options); });
}

}  // namespace plimsoll::cli
