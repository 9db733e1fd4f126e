// Finds the store that a user means with a path: the store itself, or a data root as the ogb
// package uses it.
#pragma once

#include <filesystem>
#include <string>

#include "base/progress.h"
#include "graph/store.h"
#include "memory/ledger.h"

namespace plimsoll::formats {

// Like graph::open, but if the path is not a store, the Error says what it is and which command
// makes a store from it.
graph::Store open_store(const std::filesystem::path& path);

// Reads every file and compares its checksum with meta.json. Returns "all 9 files match their
// checksums (0.4 GiB in 0.3 s)"; throws Error{store} if one does not match.
std::string verify_store(const graph::Store& store, memory::Ledger& ledger, Progress& progress);

struct DataRoot {
  std::filesystem::path store;
  std::filesystem::path import_from;  // the data set to import first; empty if the store exists
};

// Resolves --data_root, which scripts for the ogb package pass: a folder with a data set, or with a
// store made from one. Such a script only has to call plimsoll, and its first run imports.
//
// Tried in this order: `root` is a store; it holds exactly one store, NAME.plim; it is an OGB data
// set (holds raw/) or holds exactly one, which is to be imported to root/NAME.plim. Else throws an
// Error that lists what was found and says what to write.
DataRoot resolve_data_root(const std::filesystem::path& root);

}  // namespace plimsoll::formats
