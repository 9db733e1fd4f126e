// The file layouts that graphs come in. Opening reads the headers and checks the shapes against
// each other; values are checked as they are read.
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

// A folder with one list of node ids for each of train, valid and test.

using SplitReaders = std::array<std::unique_ptr<IdListReader>, 3>;

// Whether the folder itself holds one of {train,valid,test} with an ending that is read.
bool holds_split(const std::filesystem::path& folder);

// Reads {train,valid,test} with the ending .csv.gz, .csv or .npy, ids or masks; all three must be
// there. What else is there joins `not_read`.
SplitReaders open_split_folder(const std::filesystem::path& folder, const StatedCount& nodes,
                               NotRead& not_read);

// A graph from named arrays, under the names that OGB and PyG give them.

// Takes edges (edge_index), features (node_feat or x) and, if they are there, labels (node_label or
// y), counts and splits (train_idx or train_mask, ...). `where` is for messages. `mask_column`: of
// masks that hold several splits, which.
GraphParts open_array_graph(InputItems& arrays, std::string_view where,
                            std::optional<uint64_t> mask_column);

// The file layouts that graphs come in. Opening reads the headers and checks the shapes against
// each other; values are checked as they are read.

// What the user says of an input that may hold more than a store does.
struct ReadingOptions {
  std::vector<std::string> ignore;      // arrays or files to leave out
  std::optional<uint64_t> mask_column;  // of masks that hold several splits, which
};

struct OgbOptions {
  std::filesystem::path folder;  // holds raw/ and split/, as papers100M-bin/
  std::string split_name;        // a folder of split/; empty: the only one
  Progress* progress = nullptr;  // told where opening has to count lines
  ReadingOptions reading = {};
};
// Reads raw/data.npz, or raw/*.csv.gz (or .csv), or *.npy in raw/ or in the folder itself.
std::unique_ptr<FileGraph> open_ogb(const OgbOptions& options);

// One npz with the arrays that array_graph.h names.
std::unique_ptr<FileGraph> open_npz(const std::filesystem::path& file,
                                    const ReadingOptions& reading = {});

// Each file plain or gzip, with or without a header. There are as many nodes as lines of labels, or
// else of features.
struct CsvOptions {
  std::filesystem::path edges;                     // "source,destination"
  std::filesystem::path features;                  // one node a line
  std::optional<std::filesystem::path> labels;     // one node a line
  std::optional<std::filesystem::path> split_dir;  // holds {train,valid,test}.csv or .csv.gz
  Progress* progress = nullptr;                    // told while lines are counted
};
std::unique_ptr<FileGraph> open_csv(const CsvOptions& options);

}  // namespace plimsoll::formats
