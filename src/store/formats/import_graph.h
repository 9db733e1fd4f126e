// The import of a graph from its files, as `plimsoll import` runs it: says what is read and how,
// then builds the store.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "formats/open_graph.h"
#include "graph/meta.h"
#include "ingest/making.h"

namespace plimsoll::formats {

struct ImportOptions {
  ingest::MakingOptions making;
  std::optional<graph::Direction> direction;  // nothing: undirected for OGB, else directed
  graph::FeatureType features = graph::FeatureType::f16;
  std::string name;  // of the data set, kept in the store; empty: from the name of the store
};

void import_ogb(const OgbOptions& input, const ImportOptions& options);
void import_npz(const std::filesystem::path& file, const ReadingOptions& reading,
                const ImportOptions& options);
void import_csv(const CsvOptions& input, const ImportOptions& options);

// A graph that PyTorch Geometric has saved. The file is a pickle, which Python reads: import_pyg()
// finds an interpreter and our package for it, and hands over what was asked, as JSON.
struct PygRequest {
  std::filesystem::path file;
  std::string python;  // as find_python() takes it
  ReadingOptions reading;
  ImportOptions import;
};

// Returns the exit code of the Python program, which has printed its messages itself.
int import_pyg(const PygRequest& request);

}  // namespace plimsoll::formats
