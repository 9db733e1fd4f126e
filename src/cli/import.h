// What other commands take from `plimsoll import`.
#pragma once

#include <filesystem>

#include "cli/making.h"

namespace plimsoll::cli {

// As `plimsoll import ogb FOLDER --out ...` with its defaults: undirected, f16.
void import_ogb(const std::filesystem::path& folder, const MakingOptions& making);

}  // namespace plimsoll::cli
