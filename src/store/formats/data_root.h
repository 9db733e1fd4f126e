// --data_root, as scripts written for the ogb package pass it: a folder that holds a data set, or a
// store made from one. So a script changes one word, and the first run imports.
#pragma once

#include <filesystem>

namespace plimsoll::formats {

struct DataRoot {
  std::filesystem::path store;
  std::filesystem::path import_from;  // the data set to make it of; empty: the store is there
};

// In this order: `root` is a store; it holds one store, NAME.plim; it is an OGB data set (holds
// raw/) or holds one, which becomes root/NAME.plim. Throws Error that lists what was found and what
// to write where there is nothing, or too much.
DataRoot resolve_data_root(const std::filesystem::path& root);

}  // namespace plimsoll::formats
