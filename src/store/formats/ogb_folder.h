// Any InputGraph written as the folder that the Open Graph Benchmark ships, so that a generated
// graph can go wherever a downloaded one goes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/progress.h"
#include "ingest/input_graph.h"
#include "memory/ledger.h"

namespace plimsoll::formats {

enum class OgbLayout {
  npz,  // as papers100M: raw/data.npz and raw/node-label.npz
  csv,  // as arxiv and products: raw/edge.csv.gz, raw/node-feat.csv.gz, ...
};

struct OgbFolderOptions {
  std::filesystem::path out;
  bool replace = false;  // false: Error{exists} where `out` exists
  OgbLayout layout = OgbLayout::npz;
  bool deflate = true;              // npz only; false stores the arrays, larger and much faster
  std::string split_name = "time";  // split/NAME/train.csv.gz
  std::filesystem::path temp_dir;   // where npz keeps destinations for a while; empty: beside `out`
};

// Never less than what will be used: everything is counted as if it did not compress.
struct OgbFolderSpace {
  uint64_t folder_bytes = 0;
  uint64_t temporary_bytes = 0;  // in temp_dir, gone at the end
};
OgbFolderSpace space_needed(const ingest::Shape& shape, const OgbFolderOptions& options);

// Reads the InputGraph once, from its start. A graph without features, labels or splits gets a
// folder without them. Every node gets a year: the split decides (train 2017, valid 2018, test
// 2019), and the others get one of 1990..2019 by their id.
//
// The folder appears whole or not at all. Throws Error{disk} before anything is written where less
// is free than space_needed(). Takes one byte a node of memory, and some MiB.
void write_ogb_folder(ingest::InputGraph& source, const OgbFolderOptions& options,
                      memory::Ledger& ledger, Progress& progress);

}  // namespace plimsoll::formats
