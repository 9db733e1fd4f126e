// A folder with one list of node ids for each of train, valid and test.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "formats/graph_parts.h"
#include "formats/input_items.h"

namespace plimsoll::formats {

using SplitReaders = std::array<std::unique_ptr<IdListReader>, 3>;

// Whether the folder itself holds one of {train,valid,test} with an ending that is read.
bool holds_split(const std::filesystem::path& folder);

// Reads {train,valid,test} with the ending .csv.gz, .csv or .npy, ids or masks; all three must be
// there. What else is there joins `not_read`.
SplitReaders open_split_folder(const std::filesystem::path& folder, const StatedCount& nodes,
                               NotRead& not_read);

}  // namespace plimsoll::formats
