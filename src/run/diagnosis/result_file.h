// The result of `plimsoll exec` as JSON, and where it goes: to the file or pipe of --result, and to
// last.json for `plimsoll explain --last`.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/host.h"
#include "diagnosis/verdict.h"
#include "io/partial_file.h"

namespace plimsoll::diagnosis {

// The command, how it ended, what was measured, and the verdict.
nlohmann::ordered_json result_json(const Evidence& evidence, const Verdict& verdict);

// The same for exec, with its exit code, the name of the run and the CPU time.
nlohmann::ordered_json exec_json(const Evidence& evidence, const Verdict& verdict);

// The content while the command runs. It stays in the file if plimsoll is killed.
nlohmann::ordered_json unfinished_json(const std::vector<std::string>& command);

// For a command that was not started: the command, exec's exit code, and the verdict.
nlohmann::ordered_json refused_json(const std::vector<std::string>& command,
                                    const Verdict& verdict);

// Replaces the result of the previous run. Not synced to disk, and an error is ignored: explain
// --last will report it.
void write_last_run(const nlohmann::ordered_json& result);

// Writes the result to a file, whole or not at all, or to a pipe, for whose reader it waits for a
// limited time. Throws Error{io}.
void write_result(const std::filesystem::path& target, const nlohmann::ordered_json& result,
                  io::Sync sync);

// $XDG_STATE_HOME/plimsoll/last.json or ~/.local/state/plimsoll/last.json; empty if there is no
// state folder.
std::filesystem::path last_run_file(const Host& host = Host::real());

struct LastRun {
  std::string command;  // as one line
  Verdict verdict;
};
// Throws Error{io} if the file does not exist, Error{input} if it contains something else.
LastRun read_last_run(const std::filesystem::path& file);

}  // namespace plimsoll::diagnosis
