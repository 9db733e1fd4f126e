// Writes any InputGraph as a folder in the format of the Open Graph Benchmark (OGB), so that a
// generated graph can be used like a downloaded one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/progress.h"
#include "ingest/input_graph.h"
#include "memory/ledger.h"

namespace plimsoll::formats {

enum class OgbLayout {
  npz,  // like papers100M: raw/data.npz and raw/node-label.npz
  csv,  // like arxiv and products: raw/edge.csv.gz, raw/node-feat.csv.gz, ...
};

struct OgbFolderOptions {
  std::filesystem::path out;
  bool replace = false;  // false: throw Error{exists} if `out` exists
  OgbLayout layout = OgbLayout::npz;
  bool deflate = true;              // npz only; false stores the arrays, larger and much faster
  std::string split_name = "time";  // split/NAME/train.csv.gz
  std::filesystem::path temp_dir;   // npz only: for temporary files; empty: beside `out`
};

// An upper bound: counts everything as if it did not compress.
struct OgbFolderSpace {
  uint64_t folder_bytes = 0;
  uint64_t temporary_bytes = 0;  // in temp_dir, released at the end
};
OgbFolderSpace space_needed(const ingest::Shape& shape, const OgbFolderOptions& options);

// Reads the InputGraph once, from the start. If the graph has no features, labels or splits, the
// folder has none either. Every node gets a year: 2017 for train, 2018 for valid, 2019 for test,
// and for other nodes a year from 1990 to 2019 that depends on the id.
//
// The folder appears under its name only when it is complete. Throws Error{disk} before it writes
// anything if less than space_needed() is free. Takes one byte of memory per node, and a few MiB.
void write_ogb_folder(ingest::InputGraph& source, const OgbFolderOptions& options,
                      memory::Ledger& ledger, Progress& progress);

}  // namespace plimsoll::formats
