// Finding a store by what a user names: a store, a folder with one, a data root.
#pragma once

#include <filesystem>
#include <string>

#include "base/progress.h"
#include "graph/store.h"
#include "memory/ledger.h"

namespace plimsoll::formats {

// The store that a command works on.

// As graph::open; where the path is something else than a store, the Error says what it is and
// which command makes a store of it.
graph::Store open_store(const std::filesystem::path& path);

// Reads every file and compares its checksum with meta.json. Returns "all 9 files match their
// checksums (0.4 GiB in 0.3 s)"; throws Error{store} where one does not.
std::string verify_store(const graph::Store& store, memory::Ledger& ledger, Progress& progress);

// --data_root, as scripts written for the ogb package pass it: a folder that holds a data set, or a
// store made from one. So a script changes one word, and the first run imports.

struct DataRoot {
  std::filesystem::path store;
  std::filesystem::path import_from;  // the data set to make it of; empty: the store is there
};

// In this order: `root` is a store; it holds one store, NAME.plim; it is an OGB data set (holds
// raw/) or holds one, which becomes root/NAME.plim. Throws Error that lists what was found and what
// to write where there is nothing, or too much.
DataRoot resolve_data_root(const std::filesystem::path& root);

}  // namespace plimsoll::formats
