#include "formats/import_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/progress.h"
#include "base/units.h"

namespace plimsoll::formats {
namespace {

using graph::Direction;

// What a kind of input does with edges unless the user says it.
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

}  // namespace plimsoll::formats
