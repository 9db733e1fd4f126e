// The result of the last exec, kept for `explain --last`; the same JSON as exec --result writes.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/verdict.h"
#include "memory/host.h"

namespace plimsoll::diagnosis {

// The command, how it ended, what was measured, and the verdict.
nlohmann::ordered_json result_json(const Evidence& evidence, const Verdict& verdict);

// What stands in its place while it runs, and stays where plimsoll was killed.
nlohmann::ordered_json unfinished_json(const std::vector<std::string>& command);

// Of a command that was not started: the command, exec's exit code, and the verdict.
nlohmann::ordered_json refused_json(const std::vector<std::string>& command,
                                    const Verdict& verdict);

// $XDG_STATE_HOME/plimsoll/last.json, ~/.local/state/plimsoll/last.json; empty where there is no
// home.
std::filesystem::path last_run_file(const memory::Host& host = memory::Host::real());

struct LastRun {
  std::string command;  // as one line
  Verdict verdict;
};
// Throws Error{input} for a file that holds something else, Error{io} where there is none.
LastRun read_last_run(const std::filesystem::path& file);

}  // namespace plimsoll::diagnosis
