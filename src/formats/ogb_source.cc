// OGB's dataset folders: raw/ holds the graph in one of three layouts, split/NAME/ the splits.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "formats/csv_parts.h"
#include "formats/file_search.h"
#include "formats/file_source.h"
#include "formats/file_sources.h"
#include "formats/npz_members.h"
#include "formats/split_folder.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kCsvEndings = {".csv.gz", ".csv"};
constexpr std::array<std::string_view, 1> kNpyEnding = {".npy"};

enum class Layout { none, npz, csv, npy };

// The layout of the files in `raw` itself.
Layout layout_of(const fs::path& raw) {
  if (is_there(raw / "data.npz")) return Layout::npz;
  if (find_file(raw, "edge", kCsvEndings)) return Layout::csv;
  if (find_file(raw, "edge_index", kNpyEnding)) return Layout::npy;
  return Layout::none;
}

// Where the graph's arrays lie, in whichever of the two npy layouts.
struct NpyGraph {
  NpyLocation edges;
  NpyLocation features;
  std::optional<NpyLocation> labels;
  std::optional<NpyLocation> node_count;
  std::optional<NpyLocation> edge_count;
};

NpyGraph find_in_npz(const fs::path& raw) {
  const NpzMembers data(raw / "data.npz");
  NpyGraph graph;
  graph.edges = data.require("edge_index");
  graph.features = data.require("node_feat");
  graph.node_count = data.find("num_nodes_list");
  graph.edge_count = data.find("num_edges_list");
  if (is_there(raw / "node-label.npz")) {
    graph.labels = NpzMembers(raw / "node-label.npz").require("node_label");
  }
  return graph;
}

NpyGraph find_npy_files(const fs::path& raw) {
  const auto find = [&](std::string_view stem) -> std::optional<NpyLocation> {
    const auto file = find_file(raw, stem, kNpyEnding);
    return file ? std::optional(NpyLocation{*file, ""}) : std::nullopt;
  };
  NpyGraph graph;
  graph.edges = {raw / "edge_index.npy", ""};
  graph.features = {raw / "node_feat.npy", ""};
  graph.labels = find("node_label");
  if (!graph.labels) graph.labels = find("node-label");
  graph.node_count = find("num_nodes_list");
  graph.edge_count = find("num_edges_list");
  return graph;
}

GraphParts open_npy_graph(const NpyGraph& graph) {
  const StatedCount nodes = {npy_matrix_shape(graph.features).rows, graph.features.words()};
  if (graph.node_count) check_agreement("nodes", read_npy_count(*graph.node_count), nodes);
  check_node_count(nodes);

  GraphParts parts;
  parts.nodes = nodes.count;
  parts.edges = open_npy_edges(graph.edges, nodes.count);
  if (graph.edge_count) {
    check_agreement("edges", read_npy_count(*graph.edge_count),
                    {parts.edges->count(), graph.edges.words()});
  }
  parts.features = open_npy_features(graph.features);
  if (graph.labels) parts.labels = open_npy_labels(*graph.labels, nodes);
  return parts;
}

GraphParts open_csv_graph(const fs::path& raw, Progress* progress) {
  const auto edges = find_file(raw, "edge", kCsvEndings);
  const auto features = find_file(raw, "node-feat", kCsvEndings);
  const auto labels = find_file(raw, "node-label", kCsvEndings);
  const auto node_count = find_file(raw, "num-node-list", kCsvEndings);
  const auto edge_count = find_file(raw, "num-edge-list", kCsvEndings);
  if (!features) {
    fail(ErrorKind::input, "{} has no node-feat.csv.gz; a graph without features cannot be used",
         raw.string());
  }
  const StatedCount nodes = node_count ? read_csv_count(*node_count)
                                       : count_csv_lines(labels.value_or(*features), progress);
  check_node_count(nodes);

  GraphParts parts;
  parts.nodes = nodes.count;
  parts.edges = open_csv_edges(
      {*edges, CsvHeader::none, nodes.count,
       edge_count ? read_csv_count(*edge_count) : count_csv_lines(*edges, progress)});
  parts.features = open_csv_features(*features, nodes);
  if (labels) parts.labels = open_csv_labels(*labels, nodes);
  return parts;
}

SplitReaders open_splits(const OgbOptions& options, uint64_t nodes) {
  const fs::path split = options.folder / "split";
  const std::vector<std::string> names = list_folders(split);
  const std::string& wanted = options.split_name;
  if (wanted.empty()) {
    if (names.empty()) return {};
    if (names.size() == 1) return open_split_folder(split / names[0], nodes);
    fail(ErrorKind::usage, "{} holds several splits: {}; choose one with --split", split.string(),
         fmt::join(names, ", "));
  }
  if (std::find(names.begin(), names.end(), wanted) == names.end()) {
    fail(ErrorKind::usage, "{} holds no split {}; it holds: {}", split.string(), wanted,
         names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }
  return open_split_folder(split / wanted, nodes);
}

// The dataset whose raw/ folder this is; empty where it is none.
fs::path dataset_of_raw(const fs::path& folder) {
  std::error_code unreadable;
  const fs::path resolved = fs::weakly_canonical(folder, unreadable);
  const bool is_raw = resolved.filename() == "raw" && layout_of(folder) != Layout::none;
  return is_raw ? resolved.parent_path() : fs::path();
}

// The only dataset right below `folder`; empty where there is none or several.
fs::path dataset_within(const fs::path& folder) {
  std::vector<fs::path> datasets;
  for (const std::string& child : list_folders(folder)) {
    try {
      if (layout_of(folder / child / "raw") != Layout::none) datasets.push_back(folder / child);
    } catch (const Error&) {
      // A stranger's folder: this search is for a hint only.
    }
  }
  return datasets.size() == 1 ? datasets[0] : fs::path();
}

struct FoundGraph {
  Layout layout = Layout::none;
  fs::path raw;
};

FoundGraph find_graph(const fs::path& folder) {
  if (!is_there(folder)) fail(ErrorKind::io, "there is no folder {}", folder.string());
  if (!is_folder(folder)) {
    fail(ErrorKind::io, "{} is a file, an OGB dataset's folder is expected", folder.string());
  }
  const Layout in_raw = layout_of(folder / "raw");
  if (in_raw != Layout::none) return {in_raw, folder / "raw"};
  const fs::path dataset = dataset_of_raw(folder);
  const bool splits_elsewhere = !dataset.empty() && is_there(dataset / "split");
  if (layout_of(folder) == Layout::npy && !splits_elsewhere) return {Layout::npy, folder};
  const fs::path meant = dataset.empty() ? dataset_within(folder) : dataset;
  fail(ErrorKind::input,
       "{} holds no OGB dataset: neither raw/data.npz nor raw/edge.csv.gz (or .csv) nor "
       "edge_index.npy, in raw/ or in itself{}",
       folder.string(), meant.empty() ? "" : fmt::format("; did you mean {}?", meant.string()));
}

}  // namespace

std::unique_ptr<Source> open_ogb(const OgbOptions& options) {
  const FoundGraph found = find_graph(options.folder);
  GraphParts parts;
  switch (found.layout) {
    case Layout::npz:
      parts = open_npy_graph(find_in_npz(found.raw));
      break;
    case Layout::csv:
      parts = open_csv_graph(found.raw, options.progress);
      break;
    case Layout::npy:
      parts = open_npy_graph(find_npy_files(found.raw));
      break;
    case Layout::none:
      fail(ErrorKind::internal, "a dataset of no layout was opened");
  }
  parts.splits = open_splits(options, parts.nodes);
  return std::make_unique<FileSource>(std::move(parts));
}

}  // namespace plimsoll::formats
