// Opens graphs in the supported file layouts: OGB folders, npz and csv. Opening reads the headers
// and checks that the shapes agree; values are checked when they are read.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "formats/file_graph.h"
#include "formats/graph_parts.h"
#include "formats/input_items.h"

namespace plimsoll::formats {

using SplitReaders = std::array<std::unique_ptr<IdListReader>, 3>;

// Whether the folder itself holds one of {train,valid,test} with a supported ending.
bool holds_split(const std::filesystem::path& folder);

// Opens a folder with one list of nodes for each of train, valid and test: files with the ending
// .csv.gz, .csv or .npy that hold ids or masks. All three must exist. Adds other files to
// `not_read`.
SplitReaders open_split_folder(const std::filesystem::path& folder, const StatedCount& nodes,
                               NotRead& not_read);

// Opens a graph from arrays with the names that OGB and PyG use: edges (edge_index), features
// (node_feat or x) and, if they exist, labels (node_label or y), counts and splits (train_idx or
// train_mask, ...). `where` is for messages. `mask_column` selects one split if the masks hold
// several.
FileGraphParts open_array_graph(InputItems& arrays, std::string_view where,
                                std::optional<uint64_t> mask_column);

// For inputs that hold more than a store needs.
struct ReadingOptions {
  std::vector<std::string> ignore;      // arrays or files to leave out
  std::optional<uint64_t> mask_column;  // which split to use if the masks hold several
};

struct OgbOptions {
  std::filesystem::path folder;  // holds raw/ and split/, like papers100M-bin/
  std::string split_name;        // a folder in split/; empty: the only one
  Progress* progress = nullptr;  // shows progress while opening counts lines
  ReadingOptions reading = {};
};
// Reads raw/data.npz, or raw/*.csv.gz (or .csv), or *.npy in raw/ or in the folder itself.
std::unique_ptr<FileGraph> open_ogb(const OgbOptions& options);

// One npz with the arrays that open_array_graph() reads.
std::unique_ptr<FileGraph> open_npz(const std::filesystem::path& file,
                                    const ReadingOptions& reading = {});

// Each file may be plain or gzip, with or without a header. The number of nodes is the number of
// lines with labels, or with features if there are no labels.
struct CsvOptions {
  std::filesystem::path edges;                     // "source,destination"
  std::filesystem::path features;                  // one node per line
  std::optional<std::filesystem::path> labels;     // one node per line
  std::optional<std::filesystem::path> split_dir;  // holds {train,valid,test}.csv or .csv.gz
  Progress* progress = nullptr;                    // shows progress while lines are counted
};
std::unique_ptr<FileGraph> open_csv(const CsvOptions& options);

}  // namespace plimsoll::formats
