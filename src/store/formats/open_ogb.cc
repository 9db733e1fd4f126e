// OGB's dataset folders: raw/ holds the graph in one of three layouts, split/NAME/ the splits.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/shell_word.h"
#include "formats/array_graph.h"
#include "formats/csv_parts.h"
#include "formats/file_graph.h"
#include "formats/file_search.h"
#include "formats/open_graph.h"
#include "formats/recognise.h"
#include "formats/split_folder.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kCsv = {".csv.gz", ".csv"};
constexpr std::array<std::string_view, 1> kNpz = {".npz"};

// One file by its only name.
std::optional<fs::path> take(InputItems& files, std::string_view name, ItemNames endings) {
  const std::array<std::string_view, 1> names = {name};
  const auto item = files.take(names, endings);
  return item ? std::optional(item->location.file) : std::nullopt;
}

// Opening an OGB folder: what is there, and what the user wants of it.
struct OgbInput {
  const OgbOptions& options;
  fs::path raw;
  Ignored ignored;
  std::string command;

  InputItems items() { return {command, ignored}; }
};

GraphParts open_archives(OgbInput& input) {
  InputItems files = input.items();
  files.add_folder(input.raw);
  InputItems arrays = input.items();
  arrays.add_archive(*take(files, "data", kNpz));
  if (const auto labels = take(files, "node_label", kNpz)) arrays.add_archive(*labels);
  GraphParts parts =
      open_array_graph(arrays, input.raw.string(), input.options.reading.mask_column);
  parts.not_read = arrays.rest();
  parts.not_read.add(files.rest());
  return parts;
}

GraphParts open_npy_files(OgbInput& input) {
  InputItems arrays = input.items();
  arrays.add_folder(input.raw);
  arrays.take_all_named("split");  // read on its own, where the arrays lie beside it
  GraphParts parts =
      open_array_graph(arrays, input.raw.string(), input.options.reading.mask_column);
  parts.not_read = arrays.rest();
  return parts;
}

GraphParts open_csv_files(OgbInput& input) {
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
  GraphParts parts;
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

// The folder with the splits that the user wants; empty where there are none.
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

void open_splits(const OgbOptions& options, GraphParts& parts) {
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

GraphParts open_graph(OgbInput& input, OgbFiles files) {
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
  fail(ErrorKind::internal, "a dataset of no layout was opened");
}

}  // namespace

std::unique_ptr<FileGraph> open_ogb(const OgbOptions& options) {
  const FoundGraph found = find_graph(options.folder);
  OgbInput input = {options, found.raw, Ignored(options.reading.ignore),
                    "plimsoll import ogb " + shell_word(options.folder.string())};
  GraphParts parts = open_graph(input, found.files);
  if (options.reading.mask_column && found.files == OgbFiles::csv) {
    fail(ErrorKind::usage, "--mask-column {}: {} has no masks", *options.reading.mask_column,
         found.raw.string());
  }
  input.ignored.check_all_met(found.raw.string());
  open_splits(options, parts);
  return std::make_unique<FileGraph>(std::move(parts));
}

}  // namespace plimsoll::formats
