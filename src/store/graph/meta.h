// meta.json: what a store says of itself. docs/store-format.md is its description for people.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace plimsoll::graph {

constexpr int kStoreVersion = 1;

// What a store can say of itself; a graph beyond that is refused before it becomes one.
constexpr uint64_t kMostNodes = 0xffffffff;
constexpr uint64_t kMostColumns = uint64_t{1} << 24;
constexpr uint64_t kMostClasses = 0x7fffffff;

enum class FeatureType { f16, f32 };
enum class Direction { undirected, directed };
enum class NodeOrder { visits, degree, original };
// What rows are: features, or what a model's first layer makes of all neighbours' features before
// it multiplies: gcn's weighted sum; for sage the mean, and behind it the node's own features.
enum class FirstLayer { none, gcn, sage };

std::string_view name(FeatureType type);
std::string_view name(Direction direction);
std::string_view name(NodeOrder order);
std::string_view name(FirstLayer first_layer);
uint64_t value_bytes(FeatureType type);
std::string features_name(FeatureType type);  // "features.f16"

// Bytes from one feature row to the next: the values, padded so that a row never straddles more
// disk sectors than it must (a power of two up to a 512-byte sector, whole sectors beyond).
uint64_t padded_row_bytes(FeatureType type, uint64_t columns);

struct FileMeta {
  uint64_t bytes = 0;
  std::string checksum;  // XXH3-64 of the content, 16 hexadecimal digits
};

struct Meta {
  uint64_t nodes = 0;
  uint64_t edges = 0;
  uint64_t classes = 0;  // labels are below this; 0 without labels
  uint64_t labelled = 0;
  Direction direction = Direction::undirected;
  FeatureType feature_type = FeatureType::f16;
  uint64_t feature_columns = 0;
  uint64_t row_bytes = 0;
  FirstLayer first_layer = FirstLayer::none;
  NodeOrder order = NodeOrder::visits;
  std::array<uint64_t, 3> split_sizes = {};  // train, valid, test
  nlohmann::json source;                     // free-form: its name, a generator's parameters
  std::map<std::string, FileMeta> files;

  // The features that a model is given for a node.
  uint64_t input_columns() const {
    return first_layer == FirstLayer::sage ? feature_columns / 2 : feature_columns;
  }
};

// The files of a store with the sizes that the shape demands.
std::map<std::string, uint64_t> expected_files(const Meta& meta);

std::string to_text(const Meta& meta);

// Throws Error{store} that names `path` and the field; the text may be anything.
Meta parse_meta(std::string_view text, std::string_view path);

}  // namespace plimsoll::graph
