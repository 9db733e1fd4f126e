// The file layouts that graphs come in. Opening reads the headers and checks the shapes against
// each other; values are checked as they are read.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/progress.h"
#include "formats/source.h"

namespace plimsoll::formats {

struct OgbOptions {
  std::filesystem::path folder;  // holds raw/ and split/, as papers100M-bin/
  std::string split_name;        // a folder of split/; empty: the only one
  Progress* progress = nullptr;  // told where opening has to count lines
};
// Reads raw/data.npz, or raw/*.csv.gz (or .csv), or *.npy in raw/ or in the folder itself.
std::unique_ptr<Source> open_ogb(const OgbOptions& options);

// One npz with edge_index (2, E) and node_feat (N, F); and, if it has them, node_label (N,) and
// train_idx, valid_idx (or val_idx) and test_idx. Its other members are ignored.
std::unique_ptr<Source> open_npz(const std::filesystem::path& file);

// Each file plain or gzip. There are as many nodes as lines of labels, or else of features.
struct CsvOptions {
  std::filesystem::path edges;                     // "source,destination"; may start with a header
  std::filesystem::path features;                  // one node a line
  std::optional<std::filesystem::path> labels;     // one node a line
  std::optional<std::filesystem::path> split_dir;  // holds {train,valid,test}.csv or .csv.gz
  Progress* progress = nullptr;                    // told while lines are counted
};
std::unique_ptr<Source> open_csv(const CsvOptions& options);

}  // namespace plimsoll::formats
