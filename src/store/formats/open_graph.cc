#include "formats/open_graph.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/child.h"
#include "base/error.h"
#include "formats/csv_parts.h"
#include "formats/file_graph.h"
#include "formats/npy_parts.h"
#include "formats/recognise.h"

namespace plimsoll::formats {
namespace {

constexpr std::array<std::string_view, 3> kListEndings = {".csv.gz", ".csv", ".npy"};

std::unique_ptr<IdListReader> open_list(const InputItem& item, const StatedCount& nodes) {
  if (item.ending != ".npy") return open_csv_ids(item.location.file, nodes.count);
  const bool mask = parse_npy_header(*open_npy(item.location)).dtype == Dtype::boolean;
  return mask ? open_npy_mask(item.location, nodes, std::nullopt)
              : open_npy_ids(item.location, nodes.count);
}

}  // namespace

bool holds_split(const std::filesystem::path& folder) {
  return std::any_of(ingest::kSplits.begin(), ingest::kSplits.end(), [&](ingest::SplitKind split) {
    return find_file(folder, name(split), kListEndings).has_value();
  });
}

SplitReaders open_split_folder(const std::filesystem::path& folder, const StatedCount& nodes,
                               NotRead& not_read) {
  if (!is_folder(folder)) {
    fail(ErrorKind::io, "{} is not a folder; it should hold train.csv, valid.csv and test.csv",
         folder.string());
  }
  Ignored nothing({});
  InputItems files("", nothing);
  files.add_folder(folder);
  SplitReaders readers;
  for (const ingest::SplitKind split : ingest::kSplits) {
    const std::array<std::string_view, 1> stem = {name(split)};
    const auto file = files.take(stem, kListEndings);
    if (!file) {
      fail(ErrorKind::input,
           "{} has no {}.csv.gz, .csv or .npy; a split is train, valid and test; it holds: {}",
           folder.string(), name(split), files.list());
    }
    readers.at(static_cast<size_t>(split)) = open_list(*file, nodes);
  }
  not_read.add(files.rest());
  return readers;
}

namespace {

constexpr std::array<std::string_view, 1> kNpy = {".npy"};
constexpr std::array<std::string_view, 1> kEdges = {"edge_index"};
constexpr std::array<std::string_view, 2> kFeatures = {"node_feat", "x"};
constexpr std::array<std::string_view, 2> kLabels = {"node_label", "y"};
constexpr std::array<std::string_view, 2> kNodeCount = {"num_nodes", "num_nodes_list"};
constexpr std::array<std::string_view, 2> kEdgeCount = {"num_edges", "num_edges_list"};
constexpr std::array<std::string_view, 2> kTrain = {"train_idx", "train_mask"};
constexpr std::array<std::string_view, 4> kValid = {"valid_idx", "val_idx", "valid_mask",
                                                    "val_mask"};
constexpr std::array<std::string_view, 2> kTest = {"test_idx", "test_mask"};

ItemNames names_of(ingest::SplitKind split) {
  switch (split) {
    case ingest::SplitKind::train:
      return kTrain;
    case ingest::SplitKind::valid:
      return kValid;
    case ingest::SplitKind::test:
      break;
  }
  return kTest;
}

NpyLocation require(InputItems& arrays, std::string_view where, std::string_view what,
                    ItemNames names) {
  if (const auto item = arrays.take(names, kNpy)) return item->location;
  fail(ErrorKind::input, "{} has no array of {} ({}); it holds: {}", where, what,
       fmt::join(names, " or "), arrays.list());
}

}  // namespace

FileGraphParts open_array_graph(InputItems& arrays, std::string_view where,
                                std::optional<uint64_t> mask_column) {
  const NpyLocation edges = require(arrays, where, "edges", kEdges);
  const NpyLocation features = require(arrays, where, "features", kFeatures);
  const StatedCount nodes = {npy_matrix_shape(features).rows, features.words()};
  if (const auto count = arrays.take(kNodeCount, kNpy)) {
    check_agreement("nodes", read_npy_count(count->location), nodes);
  }
  check_node_count(nodes);

  FileGraphParts parts;
  parts.nodes = nodes.count;
  parts.edges = open_npy_edges(edges, nodes.count);
  if (const auto count = arrays.take(kEdgeCount, kNpy)) {
    check_agreement("edges", read_npy_count(count->location),
                    {parts.edges->count(), edges.words()});
  }
  parts.features = open_npy_features(features);
  if (const auto labels = arrays.take(kLabels, kNpy)) {
    parts.labels = open_npy_labels(labels->location, nodes);
  }
  bool side_by_side = false;
  for (const ingest::SplitKind split : ingest::kSplits) {
    const auto item = arrays.take(names_of(split), kNpy);
    if (!item) continue;
    const NpyHeader header = parse_npy_header(*open_npy(item->location));
    const bool mask = item->name.ends_with("_mask") || header.dtype == Dtype::boolean;
    side_by_side |= mask && header.shape.size() == 2 && header.shape[1] > 1;
    parts.splits.at(static_cast<size_t>(split)) =
        mask ? open_npy_mask(item->location, nodes, mask_column)
             : open_npy_ids(item->location, nodes.count);
  }
  if (mask_column && !side_by_side) {
    fail(ErrorKind::usage, "--mask-column {}: {} has no mask of several columns", *mask_column,
         where);
  }
  return parts;
}

namespace {

constexpr const char* kEdgesFile =
    "--edges takes a file with one edge per line: source,destination, both node numbers from 0";
constexpr const char* kFeaturesFile =
    "--features takes a file with one node per line: numbers separated by commas";
constexpr const char* kLabelsFile =
    "--labels takes a file with one node per line: its class, a number from 0, or nan";

// Adds to the message about an unusable file what was expected.
template <typename Open>
auto expecting(const char* expected, const Open& open) {
  try {
    return open();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    fail(ErrorKind::input, "{}; {}", error.what(), expected);
  }
}

}  // namespace

std::unique_ptr<FileGraph> open_csv(const CsvOptions& options) {
  expecting(kEdgesFile, [&] { check_is_text(options.edges); });
  expecting(kFeaturesFile, [&] { check_is_text(options.features); });
  if (options.labels) expecting(kLabelsFile, [&] { check_is_text(*options.labels); });
  const StatedCount nodes = expecting(options.labels ? kLabelsFile : kFeaturesFile, [&] {
    return count_csv_lines(options.labels.value_or(options.features), options.progress);
  });
  check_node_count(nodes);
  const StatedCount edges =
      expecting(kEdgesFile, [&] { return count_csv_lines(options.edges, options.progress); });

  FileGraphParts parts;
  parts.nodes = nodes.count;
  parts.edges =
      expecting(kEdgesFile, [&] { return open_csv_edges(options.edges, nodes.count, edges); });
  parts.features =
      expecting(kFeaturesFile, [&] { return open_csv_features(options.features, nodes); });
  if (options.labels) {
    parts.labels = expecting(kLabelsFile, [&] { return open_csv_labels(*options.labels, nodes); });
  }
  if (options.split_dir) {
    parts.splits = open_split_folder(*options.split_dir, nodes, parts.not_read);
  }
  return std::make_unique<FileGraph>(std::move(parts));
}

std::unique_ptr<FileGraph> open_npz(const std::filesystem::path& file,
                                    const ReadingOptions& reading) {
  check_is_npz(file);
  Ignored ignored(reading.ignore);
  InputItems arrays("plimsoll import npz " + shell_word(file.string()), ignored);
  arrays.add_archive(file);
  FileGraphParts parts = open_array_graph(arrays, file.string(), reading.mask_column);
  parts.not_read = arrays.rest(parts.edges->count());
  ignored.check_all_met(file.string());
  return std::make_unique<FileGraph>(std::move(parts));
}

// OGB folders: raw/ holds the graph in one of three layouts, split/NAME/ holds the splits.
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kCsv = {".csv.gz", ".csv"};
constexpr std::array<std::string_view, 1> kNpz = {".npz"};

// Takes a file that has only one possible name.
std::optional<fs::path> take(InputItems& files, std::string_view name, ItemNames endings) {
  const std::array<std::string_view, 1> names = {name};
  const auto item = files.take(names, endings);
  return item ? std::optional(item->location.file) : std::nullopt;
}

// What the functions that open an OGB folder share.
struct OgbInput {
  const OgbOptions& options;
  fs::path raw;
  Ignored ignored;
  std::string command;

  InputItems items() { return {command, ignored}; }
};

FileGraphParts open_archives(OgbInput& input) {
  InputItems files = input.items();
  files.add_folder(input.raw);
  InputItems arrays = input.items();
  arrays.add_archive(*take(files, "data", kNpz));
  if (const auto labels = take(files, "node_label", kNpz)) arrays.add_archive(*labels);
  FileGraphParts parts =
      open_array_graph(arrays, input.raw.string(), input.options.reading.mask_column);
  parts.not_read = arrays.rest(parts.edges->count());
  parts.not_read.add(files.rest(parts.edges->count()));
  return parts;
}

FileGraphParts open_npy_files(OgbInput& input) {
  InputItems arrays = input.items();
  arrays.add_folder(input.raw);
  arrays.take_all_named("split");  // the folder of splits, if it is beside the arrays
  FileGraphParts parts =
      open_array_graph(arrays, input.raw.string(), input.options.reading.mask_column);
  parts.not_read = arrays.rest(parts.edges->count());
  return parts;
}

FileGraphParts open_csv_files(OgbInput& input) {
  Progress* const progress = input.options.progress;
  InputItems files = input.items();
  files.add_folder(input.raw);
  const auto edges = take(files, "edge", kCsv);
  const auto features = take(files, "node_feat", kCsv);
  const auto labels = take(files, "node_label", kCsv);
  const auto node_count = take(files, "num_node_list", kCsv);
  const auto edge_count = take(files, "num_edge_list", kCsv);
  if (!edges || !features) {
    fail(ErrorKind::input, "{} has no {}.csv.gz; a graph without {} cannot be used",
         input.raw.string(), edges ? "node-feat" : "edge", edges ? "features" : "edges");
  }
  FileGraphParts parts;
  parts.not_read = files.rest();
  const StatedCount nodes = node_count ? read_csv_count(*node_count)
                                       : count_csv_lines(labels.value_or(*features), progress);
  check_node_count(nodes);
  parts.nodes = nodes.count;
  parts.edges =
      open_csv_edges(*edges, nodes.count,
                     edge_count ? read_csv_count(*edge_count) : count_csv_lines(*edges, progress));
  parts.features = open_csv_features(*features, nodes);
  if (labels) parts.labels = open_csv_labels(*labels, nodes);
  return parts;
}

// The folder with the splits that the user wants; empty if there are no splits.
fs::path find_splits(const OgbOptions& options) {
  fs::path split = options.folder / "split";
  const std::vector<std::string> names = list_folders(split);
  const std::string& wanted = options.split_name;
  if (wanted.empty()) {
    if (holds_split(split)) return split;
    if (names.empty()) return {};
    if (names.size() == 1) return split / names[0];
    fail(ErrorKind::usage, "{} holds several splits: {}; choose one with --split", split.string(),
         fmt::join(names, ", "));
  }
  if (std::find(names.begin(), names.end(), wanted) == names.end()) {
    fail(ErrorKind::usage, "{} holds no split {}; it holds: {}", split.string(), wanted,
         names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }
  return split / wanted;
}

void open_splits(const OgbOptions& options, FileGraphParts& parts) {
  const fs::path folder = find_splits(options);
  if (folder.empty()) {
    for (const std::string& name : list_entries(options.folder / "split")) {
      parts.not_read.unknown.push_back("split/" + name);
    }
    return;
  }
  for (const auto& list : parts.splits) {
    if (!list) continue;
    fail(ErrorKind::input,
         "{} holds splits, and so does {}; leave out the arrays with --ignore, or the folder",
         folder.string(), list->place(0));
  }
  const StatedCount nodes = {parts.nodes, options.folder.string()};
  parts.splits = open_split_folder(folder, nodes, parts.not_read);
}

struct FoundGraph {
  OgbFiles files = OgbFiles::none;
  fs::path raw;
};

FoundGraph find_graph(const fs::path& folder) {
  if (!is_there(folder)) fail(ErrorKind::io, "there is no folder {}", folder.string());
  if (!is_folder(folder)) {
    fail(ErrorKind::input, "{} is not the folder of an OGB data set, but {}", folder.string(),
         recognise(folder));
  }
  const OgbFiles in_raw = ogb_files_in(folder / "raw");
  if (in_raw != OgbFiles::none) return {in_raw, folder / "raw"};
  const fs::path data_set = data_set_of_raw(folder);
  const bool splits_elsewhere = !data_set.empty() && is_there(data_set / "split");
  if (ogb_files_in(folder) == OgbFiles::npy && !splits_elsewhere) return {OgbFiles::npy, folder};
  fail(ErrorKind::input,
       "{} is not an OGB data set (no raw/data.npz, raw/edge.csv.gz, raw/edge.csv or "
       "edge_index.npy, in raw/ or in itself), but {}",
       folder.string(), recognise(folder));
}

FileGraphParts open_graph(OgbInput& input, OgbFiles files) {
  switch (files) {
    case OgbFiles::npz:
      return open_archives(input);
    case OgbFiles::csv:
      return open_csv_files(input);
    case OgbFiles::npy:
      return open_npy_files(input);
    case OgbFiles::none:
      break;
  }
  fail(ErrorKind::internal, "a data set without a known layout was opened");
}

}  // namespace

std::unique_ptr<FileGraph> open_ogb(const OgbOptions& options) {
  const FoundGraph found = find_graph(options.folder);
  OgbInput input = {options, found.raw, Ignored(options.reading.ignore),
                    "plimsoll import ogb " + shell_word(options.folder.string())};
  FileGraphParts parts = open_graph(input, found.files);
  if (options.reading.mask_column && found.files == OgbFiles::csv) {
    fail(ErrorKind::usage, "--mask-column {}: {} has no masks", *options.reading.mask_column,
         found.raw.string());
  }
  input.ignored.check_all_met(found.raw.string());
  open_splits(options, parts);
  return std::make_unique<FileGraph>(std::move(parts));
}

}  // namespace plimsoll::formats
