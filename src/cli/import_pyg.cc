// plimsoll import pyg: makes a store of a graph that PyTorch Geometric has saved. The file is a
// pickle, which Python reads: this command finds an interpreter and our package for it, and hands
// over the options.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "base/interrupt.h"
#include "cli/arguments.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/store_options.h"
#include "formats/import_graph.h"
#include "ingest/making.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

struct PygOptions {
  fs::path file;
  std::string python;
  formats::ReadingOptions reading;
  formats::ImportOptions import;
};

// Imports the package from its folder, whichever plimsoll the interpreter has itself. Without a
// folder it imports that one.
constexpr const char* kBoot = R"(import sys
sys.path[:] = [folder for folder in sys.path if folder]
folder = sys.argv[1]
try:
    if folder:
        import importlib.util
        spec = importlib.util.spec_from_file_location("plimsoll", folder + "/__init__.py", submodule_search_locations=[folder])
        sys.modules["plimsoll"] = package = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)
    from plimsoll._import_pyg import main
except ImportError as error:
    print(f"plimsoll import pyg: {sys.executable}: {error}; --python names another interpreter", file=sys.stderr)
    sys.exit(6)
sys.exit(main(sys.argv[2:]))
)";

// The first of these that exists; empty if none does.
template <size_t Count>
fs::path first_of(const std::array<fs::path, Count>& places) {
  for (const fs::path& place : places) {
    if (fs::exists(place)) return fs::weakly_canonical(place);
  }
  return {};
}

// Our Python package: around the program in a wheel, in Debian's place, in the source tree.
fs::path own_package(const fs::path& folder) {
  return first_of(std::array{folder / "../__init__.py",
                             folder / "../lib/python3/dist-packages/plimsoll/__init__.py",
                             folder / "../../python/plimsoll/__init__.py"})
      .parent_path();
}

fs::path own_library(const fs::path& folder) {
  return first_of(std::array{folder / "libplimsoll.so.1", folder / "../lib/libplimsoll.so.1"});
}

void import_pyg(const PygOptions& options) {
  const ingest::MakingOptions& making = options.import.making;
  const ingest::Making checked(making);  // --force replaces only stores
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  const nlohmann::ordered_json words = {
      {"file", options.file.string()},
      {"out", making.out.string()},
      {"ignore", options.reading.ignore},
      {"mask_column", options.reading.mask_column ? nlohmann::json(*options.reading.mask_column)
                                                  : nlohmann::json()},
      {"undirected", options.import.direction == graph::Direction::undirected},
      {"features", options.import.features == graph::FeatureType::f32 ? "f32" : "f16"},
      {"name", options.import.name},
      {"memory", making.memory_bytes.value_or(0)},
      {"force", making.force},
      {"threads", making.threads},
      {"quiet", making.quiet},
      {"json", making.json}};
  ProgramCall child;
  child.words = {find_python(options.python), "-c", kBoot, own_package(folder).string(),
                 words.dump()};
  if (const fs::path library = own_library(folder); !library.empty()) {
    child.variables.emplace_back("PLIMSOLL_LIBRARY", library.string());
  }
  const int code = run_child(child);
  throw_if_interrupted();
  if (code != 0) throw ExitWith{code};
}

}  // namespace

void add_pyg(CLI::App& import_command) {
  CLI::App* command = import_command.add_subcommand(
      "pyg", "Import a graph that PyTorch Geometric or torch.save has saved");
  auto options = std::make_shared<PygOptions>();
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
  command->callback([options] { import_pyg(*options); });
}

}  // namespace plimsoll::cli
