// plimsoll import pyg: makes a store of a graph that PyTorch Geometric has saved.
#include <memory>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/store_options.h"
#include "formats/import_graph.h"

namespace plimsoll::cli {

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

}  // namespace plimsoll::cli
