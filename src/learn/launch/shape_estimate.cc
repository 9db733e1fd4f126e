#include "launch/shape_estimate.h"

#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX

#include <algorithm>
#include <cmath>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "base/progress.h"
#include "base/units.h"
#include "formats/data_root.h"
#include "graph/meta.h"
#include "ingest/build.h"
#include "ingest/synth.h"

namespace plimsoll::launch {
namespace {

namespace fs = std::filesystem;
using ingest::SynthOptions;

// Large enough that a batch does not reach the whole graph, small enough to be built in a second.
constexpr double kSmallNodes = 150'000;
constexpr uint64_t kBuildingBytes = 192 * kMiB;

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const ingest::SynthPreset& preset : ingest::synth_presets()) {
    names.emplace_back(preset.name);
  }
  return names;
}

fs::path make_folder() {
  std::string name = (fs::temp_directory_path() / "plimsoll-plan-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    fail(ErrorKind::io,
         "cannot make a folder in {} for a small graph; set TMPDIR to a folder that is writable",
         fs::temp_directory_path().string());
  }
  return name;
}

SynthOptions own_shape(const ShapeOptions& options) {
  const auto given = [](const std::optional<uint64_t>& value, const char* option) {
    if (!value) {
      fail(ErrorKind::usage, "{} is missing; a shape is --nodes, --edges, --columns, --classes",
           option);
    }
    return *value;
  };
  const uint64_t nodes = given(options.nodes, "--nodes");
  given(options.edges, "--edges");
  given(options.columns, "--columns");
  given(options.classes, "--classes");
  return ingest::free_shape(nodes);
}

}  // namespace

bool is_preset(const std::string& name) { return ingest::find_preset(name) != nullptr; }

std::optional<std::string> nearest_preset(const std::string& name) {
  return nearest(name, preset_names());
}

uint64_t parse_short_count(const std::string& text) {
  double number = 0;
  size_t used = 0;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  const double times = unit.empty()                 ? 1
                       : unit == "K"                ? 1e3
                       : unit == "M"                ? 1e6
                       : unit == "G" || unit == "B" ? 1e9
                                                    : 0;
  const double count = std::round(number * times);
  if (used == 0 || times == 0 || !(count >= 0 && count < 1e15) ||
      text.find_first_not_of("0123456789.KMGB") != std::string::npos) {
    fail(ErrorKind::usage, "'{}' is not a count; write 2500000, 2.5M or 1.6G", text);
  }
  return static_cast<uint64_t>(count);
}

SynthOptions described_graph(const std::string& preset, const ShapeOptions& options) {
  SynthOptions shape;
  for (const ingest::SynthPreset& one : ingest::synth_presets()) {
    if (one.name == preset) shape = one.options;
  }
  if (preset.empty()) {
    shape = own_shape(options);
  } else if (options.nodes) {
    const uint64_t edges = shape.edges;
    shape = scaled(shape, static_cast<double>(*options.nodes) / static_cast<double>(shape.nodes));
    shape.edges = edges;
  }
  shape.nodes = options.nodes.value_or(shape.nodes);
  shape.edges = options.edges.value_or(shape.edges);
  shape.classes = static_cast<uint32_t>(
      std::min<uint64_t>(options.classes.value_or(shape.classes), UINT32_MAX));
  shape.feature_columns = static_cast<uint32_t>(
      std::min<uint64_t>(options.columns.value_or(shape.feature_columns), UINT32_MAX));
  if (options.train_nodes) {
    shape.train = *options.train_nodes;
    const uint64_t rest = shape.nodes - std::min(shape.nodes, shape.train);
    // A shape of the user's own keeps the proportions of own_shape().
    const uint64_t most = preset.empty() ? std::min(shape.train / 3, rest / 2) : rest / 2;
    shape.valid = std::min(shape.valid, most);
    shape.test = std::min(shape.test, most);
  }
  check(shape);
  return shape;
}

ShapeEstimate::ShapeEstimate(const SynthOptions& shape, bool directed, unsigned threads)
    : scale_(std::max(1.0, static_cast<double>(shape.nodes) / kSmallNodes)) {
  const graph::Direction direction =
      directed ? graph::Direction::directed : graph::Direction::undirected;
  build_ = ingest::build_shape({.nodes = shape.nodes,
                                .edges = shape.edges,
                                .feature_columns = shape.feature_columns,
                                .has_labels = true,
                                .classes = shape.classes},
                               direction, graph::FeatureType::f16, /*rows_on_demand=*/false);
  SynthOptions small = scaled(shape, 1 / scale_);
  small.feature_columns = 1;  // the features are not used
  memory::Ledger ledger(kBuildingBytes);
  folder_ = make_folder();
  ingest::SynthGraph source(small, ledger);
  Progress silent(ProgressStyle::silent);
  ingest::build(source, {.out = folder_ / "small.plim", .direction = direction, .threads = threads},
                ledger, silent);
  store_ = graph::open(folder_ / "small.plim");
  large_ = plan::read_shape(*store_, ledger);
  const auto more = [&](uint64_t count) {
    return static_cast<uint64_t>(std::llround(static_cast<double>(count) * scale_));
  };
  large_.nodes = shape.nodes;
  large_.edges = more(large_.edges);
  for (plan::Mark& mark : large_.marks) mark = {more(mark.node), more(mark.edges)};
  large_.marks.back() = {large_.nodes, large_.edges};
  large_.row_bytes = build_.row_bytes;
  large_.columns = shape.feature_columns;
  large_.classes = shape.classes;
  large_.train_nodes = shape.train;
  large_.evaluated_nodes = shape.valid + shape.test;
}

ShapeEstimate::~ShapeEstimate() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::unique_ptr<ShapeEstimate> estimate_of(const fs::path& name, const ShapeOptions& options,
                                           unsigned threads) {
  const bool preset = !fs::exists(name) && is_preset(name.string());
  if (!preset && !options.any() && !options.directed) return nullptr;
  if (!preset && !name.empty()) {
    fail(ErrorKind::usage,
         "--nodes, --edges, --columns, --classes, --train-nodes and --directed describe a data set "
         "that is not on this machine, but {} is {}; give either {} or these options",
         name.string(), fs::exists(name) ? "a store" : "not the name of a data set", name.string());
  }
  return std::make_unique<ShapeEstimate>(described_graph(name.string(), options), options.directed,
                                         threads);
}

graph::Store open_planned(const fs::path& folder) {
  const auto meant = nearest_preset(folder.string());
  if (!fs::exists(folder) && meant) {
    fail(ErrorKind::io, "there is no store {}; did you mean the data set {}?", folder.string(),
         *meant);
  }
  return formats::open_store(folder);
}

std::string describe(const ShapeEstimate& estimate) {
  const plan::StoreShape& shape = estimate.shape();
  const ingest::DiskNeed disk = estimate.disk();
  return fmt::format("  {:<11} {}, {}, {}, {}, {}\n", "shape", counted(shape.nodes, "node"),
                     counted(shape.edges, "edge"), counted(shape.columns, "column"),
                     counted(shape.classes, "class"), counted(shape.train_nodes, "training node")) +
         fmt::format(
             "  {:<11} this is an estimate: neighbourhoods are those of a small synthetic graph of "
             "this kind\n",
             "") +
         fmt::format(
             "  {:<11} the store takes {} of disk; importing it takes {} in all, besides the data "
             "set, and {} of memory\n",
             "import", format_bytes_up(disk.store_bytes), format_bytes_up(disk.together_bytes),
             format_bytes_up(estimate.import_memory_bytes()));
}

nlohmann::ordered_json to_json(const ShapeEstimate& estimate) {
  const plan::StoreShape& shape = estimate.shape();
  const ingest::DiskNeed disk = estimate.disk();
  return {{"nodes", shape.nodes},
          {"edges", shape.edges},
          {"columns", shape.columns},
          {"classes", shape.classes},
          {"train_nodes", shape.train_nodes},
          {"store_bytes", disk.store_bytes},
          {"import_disk_bytes", disk.together_bytes},
          {"import_memory_bytes", estimate.import_memory_bytes()}};
}

}  // namespace plimsoll::launch
