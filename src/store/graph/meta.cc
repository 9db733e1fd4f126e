#include "graph/meta.h"

#include <bit>
#include <limits>

#include "base/json.h"
#include "io/file.h"

namespace plimsoll::graph {
namespace {

using nlohmann::json;

constexpr std::string_view kFormatName = "plimsoll store";
constexpr uint64_t kMostEdges = uint64_t{1} << 58;

// Reads the fields of one JSON object; an error names the field that is missing or invalid.
class FieldReader {
 public:
  FieldReader(const json& object, std::string_view path) : object_(object), path_(path) {}

  const json& at(const char* key) const {
    const auto found = object_.is_object() ? object_.find(key) : object_.end();
    if (!object_.is_object() || found == object_.end()) refuse(key, "is missing");
    return *found;
  }
  bool has(const char* key) const { return object_.is_object() && object_.contains(key); }
  uint64_t number(const char* key, uint64_t most) const {
    const json& value = at(key);
    if (!value.is_number_unsigned() || value.get<uint64_t>() > most) {
      refuse(key, fmt::format("is {}, not a whole number up to {}", value.dump(), most));
    }
    return value.get<uint64_t>();
  }
  // For fields that later code divides by.
  uint64_t number_above_0(const char* key, uint64_t most) const {
    const uint64_t value = number(key, most);
    if (value == 0) refuse(key, "is 0, but must be at least 1");
    return value;
  }
  std::string text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string()) refuse(key, fmt::format("is {}, not a text", value.dump()));
    return value.get<std::string>();
  }
  template <typename Enum>
  Enum choice(const char* key, std::initializer_list<Enum> choices) const {
    const std::string word = text(key);
    for (const Enum choice : choices) {
      if (name(choice) == word) return choice;
    }
    refuse(key, fmt::format("is \"{}\", which this version does not know", word));
  }

  [[noreturn]] void refuse(std::string_view key, std::string_view why) const {
    fail(ErrorKind::store, "{}: \"{}\" {}; import the graph again", path_, key, why);
  }

 private:
  const json& object_;
  std::string_view path_;
};

// A text that is not JSON is not a store either, and the message about the store says more.
template <typename Read>
json or_null(const Read& read) {
  try {
    return read();
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

std::string_view name(FeatureType type) { return type == FeatureType::f16 ? "f16" : "f32"; }
std::string_view name(Direction direction) {
  return direction == Direction::undirected ? "undirected" : "directed";
}
std::string_view name(NodeOrder order) {
  switch (order) {
    case NodeOrder::visits:
      return "visits";
    case NodeOrder::degree:
      return "degree";
    case NodeOrder::original:
      break;
  }
  return "original";
}
std::string_view name(FirstLayer first_layer) {
  switch (first_layer) {
    case FirstLayer::gcn:
      return "gcn";
    case FirstLayer::sage:
      return "sage";
    case FirstLayer::none:
      break;
  }
  return "none";
}
uint64_t value_bytes(FeatureType type) { return type == FeatureType::f16 ? 2 : 4; }
std::string features_name(FeatureType type) { return fmt::format("features.{}", name(type)); }

uint64_t padded_row_bytes(FeatureType type, uint64_t columns) {
  const uint64_t bytes = columns * value_bytes(type);
  if (bytes <= io::kSectorBytes) return std::bit_ceil(bytes);
  return (bytes + io::kSectorBytes - 1) / io::kSectorBytes * io::kSectorBytes;
}

std::map<std::string, uint64_t> expected_files(const Meta& meta) {
  return {
      {"offsets.u64", (meta.nodes + 1) * 8},
      {"neighbors.u32", meta.edges * 4},
      {features_name(meta.feature_type), meta.nodes * meta.row_bytes},
      {"labels.i32", meta.nodes * 4},
      {"split.train.u32", meta.split_sizes[0] * 4},
      {"split.valid.u32", meta.split_sizes[1] * 4},
      {"split.test.u32", meta.split_sizes[2] * 4},
      {"ids.u32", meta.nodes * 4},
      {"hotness.f32", meta.nodes * 4},
  };
}

std::string to_text(const Meta& meta) {
  json files = json::object();
  for (const auto& [file, about] : meta.files) {
    files[file] = {{"bytes", about.bytes}, {"xxh3", about.checksum}};
  }
  json text = {
      {"format", kFormatName},
      {"version", kStoreVersion},
      {"source", meta.source},
      {"nodes", meta.nodes},
      {"edges", meta.edges},
      {"direction", name(meta.direction)},
      {"classes", meta.classes},
      {"labelled", meta.labelled},
      {"features",
       {{"columns", meta.feature_columns},
        {"type", name(meta.feature_type)},
        {"row_bytes", meta.row_bytes}}},
      {"order", name(meta.order)},
      {"splits",
       {{"train", meta.split_sizes[0]},
        {"valid", meta.split_sizes[1]},
        {"test", meta.split_sizes[2]}}},
      {"files", files},
  };
  if (meta.first_layer != FirstLayer::none) {
    text["features"]["first_layer"] = name(meta.first_layer);
  }
  return text.dump(2) + "\n";
}

Meta parse_meta(std::string_view text, std::string_view path) {
  const JsonLimits limits = {.kind = ErrorKind::store};
  check_json(text, path, limits);
  const json root = or_null([&] { return read_json(text, path, limits); });
  const FieldReader fields(root, path);
  if (!root.is_object() || !root.contains("format") || root["format"] != kFormatName) {
    fail(ErrorKind::store, "{} does not describe a Plimsoll store", path);
  }
  if (const auto version = fields.number("version", kMostNodes); version != kStoreVersion) {
    fail(ErrorKind::store, "{}: the store has version {}, this program reads {}; import it again",
         path, version, kStoreVersion);
  }
  Meta meta;
  meta.source = fields.at("source");
  meta.nodes = fields.number_above_0("nodes", kMostNodes);
  meta.edges = fields.number("edges", kMostEdges);
  meta.direction = fields.choice("direction", {Direction::undirected, Direction::directed});
  meta.classes = fields.number("classes", kMostClasses);
  meta.labelled = fields.number("labelled", meta.nodes);
  const FieldReader features(fields.at("features"), path);
  meta.feature_columns = features.number_above_0("columns", kMostColumns);
  meta.feature_type = features.choice("type", {FeatureType::f16, FeatureType::f32});
  meta.row_bytes = features.number("row_bytes", kMostColumns * 8);
  if (meta.row_bytes < meta.feature_columns * value_bytes(meta.feature_type)) {
    features.refuse("row_bytes", "is too small for the columns");
  }
  if (features.has("first_layer")) {
    meta.first_layer = features.choice("first_layer", {FirstLayer::gcn, FirstLayer::sage});
    if (meta.first_layer == FirstLayer::sage && meta.feature_columns % 2 != 0) {
      features.refuse("columns", "is odd, but a sage store has two equal halves");
    }
  }
  meta.order = fields.choice("order", {NodeOrder::visits, NodeOrder::degree, NodeOrder::original});
  const FieldReader splits(fields.at("splits"), path);
  meta.split_sizes = {splits.number("train", meta.nodes), splits.number("valid", meta.nodes),
                      splits.number("test", meta.nodes)};
  const FieldReader files(fields.at("files"), path);
  for (const auto& [file, expected_bytes] : expected_files(meta)) {
    const FieldReader about(files.at(file.c_str()), path);
    meta.files[file] = {about.number("bytes", std::numeric_limits<uint64_t>::max()),
                        about.text("xxh3")};
    if (meta.files[file].bytes != expected_bytes) {
      fail(ErrorKind::store, "{}: {} is listed with {} bytes, but must have {}", path, file,
           meta.files[file].bytes, expected_bytes);
    }
  }
  return meta;
}

}  // namespace plimsoll::graph
