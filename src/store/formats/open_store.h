// The store that a command works on.
#pragma once

#include <filesystem>
#include <string>

#include "base/progress.h"
#include "graph/store.h"
#include "memory/ledger.h"

namespace plimsoll::formats {

// As graph::open; where the path is something else than a store, the Error says what it is and
// which command makes a store of it.
graph::Store open_store(const std::filesystem::path& path);

// Reads every file and compares its checksum with meta.json. Returns "all 9 files match their
// checksums (0.4 GiB in 0.3 s)"; throws Error{store} where one does not.
std::string verify_store(const graph::Store& store, memory::Ledger& ledger, Progress& progress);

}  // namespace plimsoll::formats
