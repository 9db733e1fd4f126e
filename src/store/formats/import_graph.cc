#include "formats/import_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/child.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/units.h"
#include "ingest/making.h"

namespace plimsoll::formats {
namespace {

using graph::Direction;

// The direction of a kind of input if the user gives none.
enum class UsualDirection { as_listed, as_published };

std::string describe(Direction direction, bool given, UsualDirection usual) {
  if (direction == Direction::directed) {
    return given ? "directed, as listed"
                 : "directed, as listed (the default here; --undirected adds reverse edges)";
  }
  std::string what = "undirected: reverse edges added, duplicates removed";
  if (given || usual == UsualDirection::as_listed) return what;
  return what +
         "\n            (the default for ogb: all published results on these data sets add them,"
         "\n            and without them models learn less; --directed keeps the edges as they "
         "are)";
}

// Names of what was not imported, at most kShown: "edge_attr, node_year and 3 more".
std::string shown_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  const auto shown = static_cast<ptrdiff_t>(std::min(names.size(), kShown));
  return fmt::format(
      "{}{}", fmt::join(names.begin(), names.begin() + shown, ", "),
      names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "");
}

void say_readings(const ingest::Making& making, const FileGraph& source) {
  for (const InputReading& reading : source.readings()) {
    making.say(reading.as, "from " + reading.what);
  }
  const NotRead& not_read = source.not_read();
  if (!not_read.ignored.empty()) {
    making.say("left out", shown_names(not_read.ignored) + ", by --ignore");
  }
  if (!not_read.unknown.empty()) {
    making.warn("not read, because a store has no place for it: " + shown_names(not_read.unknown));
  }
}

nlohmann::ordered_json to_json(const FileGraph& source) {
  nlohmann::ordered_json read = nlohmann::ordered_json::object();
  for (const InputReading& reading : source.readings()) read[reading.as] = reading.what;
  return {{"read", read},
          {"left_out", source.not_read().ignored},
          {"not_read", source.not_read().unknown}};
}

// `open` may take long, because it counts the lines of csv files. So the options are checked first.
void import_graph(const std::string& input,
                  const std::function<std::unique_ptr<FileGraph>(Progress&)>& open,
                  const ImportOptions& options, UsualDirection usual) {
  ingest::Making making(options.making);
  const auto source = open(making.progress());
  const ingest::Shape& shape = source->shape();
  making.headline(fmt::format("importing {}: {}, {}, {}{}", input, counted(shape.nodes, "node"),
                              counted(shape.edges, "edge"),
                              counted(shape.feature_columns, "feature"),
                              shape.has_labels ? "" : ", no labels"));
  const Direction direction = options.direction.value_or(
      usual == UsualDirection::as_published ? Direction::undirected : Direction::directed);
  say_readings(making, *source);
  making.say("direction", describe(direction, options.direction.has_value(), usual));
  making.say("stored as", std::string(name(options.features)));
  const std::filesystem::path& out = options.making.out;
  const std::string stem = (out.has_filename() ? out : out.parent_path()).stem().string();
  making.build_store(*source,
                     {.direction = direction,
                      .features = options.features,
                      .source = {{"name", options.name.empty() ? stem : options.name}}},
                     to_json(*source));
}

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

void import_ogb(const OgbOptions& input, const ImportOptions& options) {
  const auto open = [&](Progress& progress) {
    OgbOptions shown = input;
    shown.progress = &progress;
    return open_ogb(shown);
  };
  import_graph(input.folder.string(), open, options, UsualDirection::as_published);
}

void import_npz(const std::filesystem::path& file, const ReadingOptions& reading,
                const ImportOptions& options) {
  const auto open = [&](Progress&) { return open_npz(file, reading); };
  import_graph(file.string(), open, options, UsualDirection::as_listed);
}

void import_csv(const CsvOptions& input, const ImportOptions& options) {
  const auto open = [&](Progress& progress) {
    CsvOptions shown = input;
    shown.progress = &progress;
    return open_csv(shown);
  };
  import_graph(input.edges.string(), open, options, UsualDirection::as_listed);
}

int import_pyg(const PygRequest& request) {
  const ingest::MakingOptions& making = request.import.making;
  const ingest::Making checked(making);  // --force replaces only stores
  const fs::path folder = own_program().parent_path();
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
