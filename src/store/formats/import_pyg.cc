#include "formats/import_pyg.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/child.h"
#include "base/interrupt.h"
#include "ingest/making.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;

// Imports the package from its folder, whichever plimsoll the interpreter has itself. Without a
// folder it imports that one.
constexpr const char* kPygBoot = R"(import sys
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

}  // namespace

int import_pyg(const PygRequest& request) {
  const ingest::MakingOptions& making = request.import.making;
  const ingest::Making checked(making);  // --force replaces only stores
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  const nlohmann::ordered_json words = {
      {"file", request.file.string()},
      {"out", making.out.string()},
      {"ignore", request.reading.ignore},
      {"mask_column", request.reading.mask_column ? nlohmann::json(*request.reading.mask_column)
                                                  : nlohmann::json()},
      {"undirected", request.import.direction == graph::Direction::undirected},
      {"features", request.import.features == graph::FeatureType::f32 ? "f32" : "f16"},
      {"name", request.import.name},
      {"memory", making.memory_bytes.value_or(0)},
      {"force", making.force},
      {"threads", making.threads},
      {"quiet", making.quiet},
      {"json", making.json}};
  ProgramCall python;
  python.words = {find_python(request.python), "-c", kPygBoot, own_package(folder).string(),
                  words.dump()};
  if (const fs::path library = own_library(folder); !library.empty()) {
    python.environment = environment_with({"PLIMSOLL_LIBRARY=" + library.string()});
  }
  const int code = run_child(python);
  throw_if_interrupted();
  return code;
}

}  // namespace plimsoll::formats
