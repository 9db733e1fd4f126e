#include "experiment/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "experiment/table.h"

namespace plimsoll::experiment {
namespace {

constexpr std::string_view kPrefix = "hyperparam_";

std::optional<size_t> column(const Row& header, std::string_view name) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<size_t>(found - header.begin());
}

std::string cell(const Row& row, std::optional<size_t> at) {
  return at && *at < row.size() ? row[*at] : "";
}

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() ? std::nullopt : std::optional(value);
}

// As pandas, a spreadsheet or a shell wrote it.
bool is_true(const std::string& text) {
  return text == "True" || text == "true" || text == "TRUE" || text == "1";
}

}  // namespace

std::vector<PastRun> read_history(std::string_view text, const std::string& file,
                                  Problems& problems) {
  const std::vector<Row> rows = parse_table(text);
  if (rows.empty()) return {};
  const Row& header = rows.front();
  const auto repository = column(header, "repository");
  const auto model = column(header, "model");
  const auto mode = column(header, "mode");
  const auto id = column(header, "experiment_id");
  const auto success = column(header, "training_success");
  const auto seconds = column(header, "duration_seconds");
  if (!repository || !model) {
    problems.error(file, 1, "the table has no columns repository and model: it is no summary");
    return {};
  }
  std::vector<PastRun> runs;
  for (size_t line = 1; line < rows.size(); ++line) {
    const Row& row = rows[line];
    if (row.size() != header.size()) {
      problems.error(
          file, line + 1,
          fmt::format("a row of {} cells in a table of {} columns", row.size(), header.size()));
      continue;
    }
    PastRun run{.repository = cell(row, repository), .model = cell(row, model)};
    run.parallel = cell(row, mode) == "parallel" || cell(row, id).ends_with("_parallel");
    for (size_t i = 0; i < header.size(); ++i) {
      if (!header[i].starts_with(kPrefix) || row[i].empty()) continue;
      if (const auto value = number(row[i])) run.values[header[i].substr(kPrefix.size())] = *value;
    }
    run.success = is_true(cell(row, success));
    run.seconds = number(cell(row, seconds));
    runs.push_back(std::move(run));
  }
  return runs;
}

Values values_of(const PastRun& run, const Values& defaults) {
  Values values = defaults;
  for (const auto& [name, number] : run.values) values.set(name, {.number = number});
  return values;
}

}  // namespace plimsoll::experiment
