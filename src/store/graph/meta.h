// meta.json, the file that describes a store. A store is a folder with an imported graph in the
// form that training reads; docs/reference/store-format.md describes all its files.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace plimsoll::graph {

constexpr int kStoreVersion = 1;

// The limits of the format. An import refuses a larger graph before it writes anything.
constexpr uint64_t kMostNodes = 0xffffffff;
constexpr uint64_t kMostColumns = uint64_t{1} << 24;
constexpr uint64_t kMostClasses = 0x7fffffff;

enum class FeatureType { f16, f32 };
enum class Direction { undirected, directed };
enum class NodeOrder { visits, degree, original };
// What a row holds. none: the node's features. gcn, sage: the input of that model's first matrix
// product, aggregated over all neighbours: for gcn their weighted sum; for sage their mean,
// followed by the node's own features.
enum class FirstLayer { none, gcn, sage };

std::string_view name(FeatureType type);
std::string_view name(Direction direction);
std::string_view name(NodeOrder order);
std::string_view name(FirstLayer first_layer);
uint64_t value_bytes(FeatureType type);
std::string features_name(FeatureType type);  // "features.f16"

// Bytes from one feature row to the next: the values plus padding, so that a row touches as few
// disk sectors as possible (a power of two up to a 512-byte sector, then whole sectors).
uint64_t padded_row_bytes(FeatureType type, uint64_t columns);

struct FileMeta {
  uint64_t bytes = 0;
  std::string checksum;  // XXH3-64 of the content, 16 hexadecimal digits
};

struct Meta {
  uint64_t nodes = 0;
  uint64_t edges = 0;
  uint64_t classes = 0;  // every label is below this; 0 if the graph has no labels
  uint64_t labelled = 0;
  Direction direction = Direction::undirected;
  FeatureType feature_type = FeatureType::f16;
  uint64_t feature_columns = 0;
  uint64_t row_bytes = 0;
  FirstLayer first_layer = FirstLayer::none;
  NodeOrder order = NodeOrder::visits;
  std::array<uint64_t, 3> split_sizes = {};  // train, valid, test
  nlohmann::json source;                     // free-form: the name, a generator's parameters
  std::map<std::string, FileMeta> files;

  // How many features of its own a node has.
  uint64_t input_columns() const {
    return first_layer == FirstLayer::sage ? feature_columns / 2 : feature_columns;
  }
};

// The names of a store's files, and the size in bytes that each must have.
std::map<std::string, uint64_t> expected_files(const Meta& meta);

std::string to_text(const Meta& meta);

// Accepts any text. Throws Error{store} that names `path` and the field if it is not a valid
// meta.json.
Meta parse_meta(std::string_view text, std::string_view path);

}  // namespace plimsoll::graph
