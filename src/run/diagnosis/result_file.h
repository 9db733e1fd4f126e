// Where the result of `plimsoll exec` goes: the file or pipe of --result, and last.json for
// `explain --last`.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "io/partial_file.h"

namespace plimsoll::diagnosis {

// Replaces the result of the previous run. Not synced to disk, and an error is ignored: explain
// --last will report it.
void write_last_run(const nlohmann::ordered_json& result);

// Writes the result to a file, whole or not at all, or to a pipe, for whose reader it waits for a
// limited time. Throws Error{io}.
void write_result(const std::filesystem::path& target, const nlohmann::ordered_json& result,
                  io::Sync sync);

}  // namespace plimsoll::diagnosis
