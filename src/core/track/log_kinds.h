// The logs that --log can ask for, and the names of their files.
#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll::track {

enum class LogKind { tensorboard, csv, prometheus, jsonl, optuna };
std::string_view name(LogKind kind);  // the word of the command line
using LogKinds = std::set<LogKind>;

// "tensorboard,csv". Throws Error{usage} that names a word that is none of `known`.
LogKinds parse_logs(std::string_view text, std::span<const LogKind> known);
std::string format_logs(const LogKinds& kinds);  // "tensorboard,csv"

constexpr const char* kHistoryTable = "history.csv";
constexpr const char* kHistoryLines = "history.jsonl";
constexpr const char* kPrometheusFile = "metrics.prom";

// Whether a file of this name is one that a StepLog writes.
bool is_log_file(std::string_view name);

// The logs that the folder has. A run that is resumed continues them.
LogKinds logs_in(const std::filesystem::path& folder);

}  // namespace plimsoll::track
