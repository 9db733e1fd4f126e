// A folder with one list of node ids for each of train, valid and test.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "formats/graph_parts.h"

namespace plimsoll::formats {

using SplitReaders = std::array<std::unique_ptr<IdListReader>, 3>;

// Reads {train,valid,test} with the ending .csv.gz, .csv or .npy; all three must be there.
SplitReaders open_split_folder(const std::filesystem::path& folder, uint64_t nodes);

}  // namespace plimsoll::formats
