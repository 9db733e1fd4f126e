// plimsoll import ogb|npz|csv: makes a store of graph files.
#include "cli/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/making.h"
#include "formats/open_graph.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using formats::FileGraph;

struct ImportOptions {
  MakingOptions making;
  DirectionFlags direction;
  std::string feature_type = "f16";
  std::string name;
};

// The names of the option for the type of features. In csv, --features is a file.
constexpr const char* kTypeOnly = "--feature-type";
constexpr const char* kTypeOrFeatures = "--feature-type,--features";

void add_import_options(CLI::App& command, const char* type_option, ImportOptions& options) {
  add_direction_flags(command, options.direction);
  CLI::Option* type = add_feature_type(command, type_option, options.feature_type);
  if (type_option == kTypeOrFeatures) {
    type->description(type->get_description() +
                      "; --features is the same option here, but a file "
                      "in import csv and a number in synth");
  }
  command.add_option("--name", options.name, "name of the data set, kept in the store")
      ->default_str("from --out")
      ->type_name("TEXT");
  add_making_options(command, options.making);
}

std::string describe(graph::Direction direction, const DirectionFlags& flags, bool from_ogb) {
  if (direction == graph::Direction::directed) {
    return flags.directed
               ? "directed, as listed"
               : "directed, as listed (the default here; --undirected adds reverse edges)";
  }
  std::string what = "undirected: reverse edges added, duplicates removed";
  if (flags.undirected || !from_ogb) return what;
  return what +
         "\n            (the default for ogb: all published results on these data sets add them,"
         "\n            and without them models learn less; --directed keeps the edges as they "
         "are)";
}

// Names of what was not imported, at most kShown: "edge_attr, node_year and 3 more".
std::string list(const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  const auto shown = static_cast<ptrdiff_t>(std::min(names.size(), kShown));
  return fmt::format(
      "{}{}", fmt::join(names.begin(), names.begin() + shown, ", "),
      names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "");
}

void say_readings(const Making& making, const FileGraph& source) {
  for (const formats::InputReading& reading : source.readings()) {
    making.say(reading.as, "from " + reading.what);
  }
  const formats::NotRead& not_read = source.not_read();
  if (!not_read.ignored.empty()) making.say("left out", list(not_read.ignored) + ", by --ignore");
  if (!not_read.unknown.empty()) {
    making.say("note", "not read, because a store has no place for it: " + list(not_read.unknown));
  }
}

nlohmann::ordered_json to_json(const FileGraph& source) {
  nlohmann::ordered_json read = nlohmann::ordered_json::object();
  for (const formats::InputReading& reading : source.readings()) read[reading.as] = reading.what;
  return {{"read", read},
          {"left_out", source.not_read().ignored},
          {"not_read", source.not_read().unknown}};
}

// `open` may take long, because it counts the lines of csv files. So the options are checked first.
void import(const std::string& input,
            const std::function<std::unique_ptr<FileGraph>(Progress&)>& open,
            const ImportOptions& options, bool from_ogb) {
  Making making(options.making);
  const auto source = open(making.progress());
  const ingest::Shape& shape = source->shape();
  making.headline(fmt::format("importing {}: {}, {}, {}{}", input, counted(shape.nodes, "node"),
                              counted(shape.edges, "edge"),
                              counted(shape.feature_columns, "feature"),
                              shape.has_labels ? "" : ", no labels"));
  const graph::Direction direction = options.direction.or_else(
      from_ogb ? graph::Direction::undirected : graph::Direction::directed);
  say_readings(making, *source);
  making.say("direction", describe(direction, options.direction, from_ogb));
  making.say("stored as", options.feature_type);
  const fs::path out = options.making.out;
  const std::string stem = (out.has_filename() ? out : out.parent_path()).stem().string();
  making.build_store(*source,
                     {.direction = direction,
                      .features = feature_type(options.feature_type),
                      .source = {{"name", options.name.empty() ? stem : options.name}}},
                     to_json(*source));
}

void add_reading_options(CLI::App& command, formats::ReadingOptions& reading) {
  command
      .add_option("--ignore", reading.ignore,
                  "do not import these arrays or files, such as edge_weight,edge_attr")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAMES");
  command
      .add_option("--mask-column", reading.mask_column,
                  "for masks with several columns, one for each split: the column to take, from 0")
      ->check(whole_number(0, 0xffffffffU))
      ->type_name("N");
}

void import_ogb(formats::OgbOptions input, const ImportOptions& options) {
  const auto open = [&](Progress& progress) {
    input.progress = &progress;
    return formats::open_ogb(input);
  };
  import(input.folder.string(), open, options, /*from_ogb=*/true);
}

void add_ogb(CLI::App& import_command) {
  CLI::App* command = import_command.add_subcommand(
      "ogb", "Import a data set of the Open Graph Benchmark, such as papers100M-bin/");
  struct Options : ImportOptions {
    formats::OgbOptions input;
  };
  auto options = std::make_shared<Options>();
  command->add_option("FOLDER", options->input.folder, "the folder that holds raw/ and split/")
      ->required()
      ->type_name("");
  command
      ->add_option("--split", options->input.split_name,
                   "the folder in split/ to take, if there are several")
      ->type_name("NAME");
  add_reading_options(*command, options->input.reading);
  add_import_options(*command, kTypeOrFeatures, *options);
  command->footer(
      R"(Reads raw/data.npz, raw/*.csv.gz or plain .npy files, whichever exists. A data set with weights or
features of edges is refused unless --ignore names them. Other parts that are not read are listed.

Examples:
  plimsoll import ogb papers100M-bin/ --out papers.plim --memory 8G
  plimsoll import ogb arxiv/ --out arxiv.plim --directed)");
  command->callback([options] { import_ogb(options->input, *options); });
}

void add_npz(CLI::App& import_command) {
  CLI::App* command = import_command.add_subcommand("npz", "Import a NumPy archive");
  struct Options : ImportOptions {
    fs::path file;
    formats::ReadingOptions reading;
  };
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "the .npz file")->required()->type_name("");
  add_reading_options(*command, options->reading);
  add_import_options(*command, kTypeOrFeatures, *options);
  command->footer(R"(The names of the arrays are those of OGB and PyG:
  edge_index             (2, edges) or (edges, 2)
  node_feat or x         (nodes, columns)
  node_label or y        (nodes,); NaN or -1 = unlabelled
  train_idx, valid_idx, test_idx      ids; val_idx is valid_idx
  train_mask, valid_mask, test_mask   one bool for each node; val_mask is valid_mask
An archive with weights or features of edges is refused unless --ignore names them. Other arrays
that are not read are listed. Edges are kept as they are, unless --undirected is given.

Examples:
  plimsoll import npz my.npz --out my.plim --undirected
  plimsoll import npz cora.npz --ignore edge_attr --out cora.plim)");
  command->callback([options] {
    const auto open = [&](Progress&) { return formats::open_npz(options->file, options->reading); };
    import(options->file.string(), open, *options, /*from_ogb=*/false);
  });
}

void add_csv(CLI::App& import_command) {
  CLI::App* command = import_command.add_subcommand("csv", "Import text files, plain or gzip");
  struct Options : ImportOptions {
    formats::CsvOptions input;
  };
  auto options = std::make_shared<Options>();
  command
      ->add_option("--edges", options->input.edges,
                   "file of edges, one per line: source,destination")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--features", options->input.features,
                   "file of features, one node per line; for their type see --feature-type")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--labels", options->input.labels,
                   "file of labels, one per line; nan = unlabelled")
      ->type_name("FILE");
  command
      ->add_option("--split-dir", options->input.split_dir,
                   "folder with train.csv, valid.csv and test.csv, plain or gzip")
      ->type_name("FOLDER");
  add_import_options(*command, kTypeOnly, *options);
  command->footer(
      R"(Nodes are numbered from 0 in the order of their lines. A header with names is skipped.

Example:
  plimsoll import csv --edges e.csv.gz --features x.csv.gz --labels y.csv --split-dir split/ \
      --out my.plim)");
  command->callback([options] {
    const auto open = [&](Progress& progress) {
      options->input.progress = &progress;
      return formats::open_csv(options->input);
    };
    import(options->input.edges.string(), open, *options, /*from_ogb=*/false);
  });
}

}  // namespace

void import_ogb(const fs::path& folder, const MakingOptions& making) {
  ImportOptions options;
  options.making = making;
  import_ogb({.folder = folder}, options);
}

void add_import(CLI::App& app) {
  CLI::App* command = app.add_subcommand("import", "Make a store from graph files");
  command->require_subcommand(1);
  add_ogb(*command);
  add_npz(*command);
  add_csv(*command);
}

}  // namespace plimsoll::cli
