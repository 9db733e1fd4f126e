// plimsoll import ogb|npz|csv|pyg: makes a store of graph files.
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "formats/import_graph.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using formats::ImportOptions;

// The names of the option for the type of features. In csv, --features is a file.
constexpr const char* kTypeOnly = "--feature-type";
constexpr const char* kTypeOrFeatures = "--feature-type,--features";

void add_import_options(CLI::App& command, const char* type_option, ImportOptions& options) {
  add_direction_flags(command, options.direction);
  CLI::Option* type = add_feature_type(command, type_option, options.features);
  if (type_option == kTypeOrFeatures) {
    type->description(type->get_description() +
                      "; --features means the same here (but it is a file in import csv, and a "
                      "number in synth)");
  }
  command.add_option("--name", options.name, "name of the data set, kept in the store")
      ->default_str("from --out")
      ->type_name("TEXT");
  add_making_options(command, options.making);
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
  command->callback([options] { formats::import_ogb(options->input, *options); });
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
  command->callback([options] { formats::import_npz(options->file, options->reading, *options); });
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
  command->callback([options] { formats::import_csv(options->input, *options); });
}

void add_pyg(CLI::App& import_command) {
  CLI::App* command = import_command.add_subcommand(
      "pyg", "Import a graph that PyTorch Geometric or torch.save has saved");
  auto options = std::make_shared<formats::PygRequest>();
  command->add_option("FILE", options->file, "the .pt file, such as processed/data.pt")
      ->required()
      ->type_name("");
  add_python(*command, options->python);
  add_reading_options(*command, options->reading);
  add_direction_flags(*command, options->import.direction);
  add_feature_type(*command, "--feature-type", options->import.features);
  command->add_option("--name", options->import.name, "name of the data set, kept in the store")
      ->default_str("from --out")
      ->type_name("TEXT");
  add_store_options(*command, options->import.making);
  command->footer(
      R"(Reads the file of a dataset (InMemoryDataset), a Data, or a dict of its fields: edge_index, x, y,
train_mask, val_mask, test_mask. Needs Python with NumPy, but neither torch nor PyTorch Geometric.
No code of the file is run. Files of torch before 1.6 must be saved again. A graph with weights or
features of edges is refused unless --ignore names them. Other fields are listed.

Examples:
  plimsoll import pyg Cora/processed/data.pt --out cora.plim
  plimsoll import pyg data.pt --ignore edge_attr --undirected --out my.plim)");
  command->callback([options] {
    const int code = formats::import_pyg(*options);
    if (code != 0) throw ExitWith{code};
  });
}

}  // namespace

void add_import(CLI::App& app) {
  CLI::App* command = app.add_subcommand("import", "Make a store from graph files");
  command->require_subcommand(1);
  add_ogb(*command);
  add_npz(*command);
  add_csv(*command);
  add_pyg(*command);
}

}  // namespace plimsoll::cli
