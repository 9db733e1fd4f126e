// Options that several commands have, so that they read and behave the same everywhere. Each writes
// to a variable that must live until the command has run.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::cli {

// Headings of the help; options without one stand under "Options".
constexpr const char* kResources = "Resources";
constexpr const char* kOutput = "Output";

// An option whose value is a size like 8G or 512M; `bytes` stays empty where it is not given.
CLI::Option* add_bytes(CLI::App& command, const std::string& name, std::optional<uint64_t>& bytes,
                       const std::string& description);

// An option whose value is a duration like 90s or 2h; `seconds` stays empty where it is not given.
CLI::Option* add_duration(CLI::App& command, const std::string& name,
                          std::optional<double>& seconds, const std::string& description);

// --memory SIZE, for memory::choose_limit.
CLI::Option* add_memory(CLI::App& command, std::optional<uint64_t>& bytes);

// --memory SIZE of a training: `bytes` stays empty for the word auto, too, which is the default.
CLI::Option* add_training_memory(CLI::App& command, std::optional<uint64_t>& bytes);

// The same for several: 8G,16G,auto. Stays empty where it is not given.
CLI::Option* add_training_memories(CLI::App& command, std::vector<std::optional<uint64_t>>& sizes);

// --threads N, at least 1; `threads` is set at once to the number of CPUs this process may use.
CLI::Option* add_threads(CLI::App& command, unsigned& threads);

// -q, --quiet, for Progress::detect.
CLI::Option* add_quiet(CLI::App& command, bool& quiet);

CLI::Option* add_json(CLI::App& command, bool& json);

// For ->check() of every whole number: CLI11 alone takes -1 for 2^64 - 1 and 010 for 8.
CLI::Validator whole_number(uint64_t lowest, uint64_t highest);

// The words that CLI::IsMember limits the option to; none where any value will do.
std::vector<std::string> fixed_values(const CLI::Option& option);

}  // namespace plimsoll::cli
