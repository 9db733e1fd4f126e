#include "experiment/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/error.h"
#include "experiment/csv_table.h"

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
  const auto value = parse_value(text);
  return value ? std::optional(value->number) : std::nullopt;
}

// Other text than a number is the value of a text or a truth value, as in `True`.
Value value_in(const std::string& cell) {
  char* end = nullptr;
  std::strtod(cell.c_str(), &end);
  if (end == cell.c_str() + cell.size()) return *parse_value(cell);
  if (cell == "True" || cell == "False") return truth_value(cell == "True");
  return text_value(cell);
}

// As written by pandas, a spreadsheet or a shell.
bool is_true(const std::string& text) {
  return text == "True" || text == "true" || text == "TRUE" || text == "1";
}

// The columns that say what ran. Other columns are hyperparameters or ignored.
struct Columns {
  explicit Columns(Row names)
      : header(std::move(names)),
        repository(column(header, "repository")),
        model(column(header, "model")),
        mode(column(header, "mode")),
        id(column(header, "experiment_id")),
        success(column(header, "training_success")),
        seconds(column(header, "duration_seconds")) {}

  Row header;
  std::optional<size_t> repository, model, mode, id, success, seconds;
};

PastRun run_of(const Columns& columns, const Row& row) {
  PastRun run{.repository = cell(row, columns.repository), .model = cell(row, columns.model)};
  run.parallel =
      cell(row, columns.mode) == "parallel" || cell(row, columns.id).ends_with("_parallel");
  for (size_t i = 0; i < row.size(); ++i) {
    const std::string& name = columns.header[i];
    if (!name.starts_with(kPrefix) || row[i].empty()) continue;
    run.values[name.substr(kPrefix.size())] = value_in(row[i]);
  }
  run.success = is_true(cell(row, columns.success));
  run.seconds = number(cell(row, columns.seconds));
  return run;
}

}  // namespace

std::vector<PastRun> read_history(std::string_view text, const std::string& file,
                                  Problems& problems) {
  std::vector<PastRun> runs;
  std::optional<Columns> columns;
  const auto take = [&](size_t number, Row row) {
    if (!columns) {
      columns.emplace(std::move(row));
      if (columns->repository && columns->model) return;
      problems.error(file, 1,
                     "the table has no columns repository and model, so it is not a summary");
    } else if (columns->repository && columns->model) {
      if (row.size() == columns->header.size()) {
        runs.push_back(run_of(*columns, row));
      } else {
        problems.error(file, number,
                       fmt::format("a row of {} cells in a table of {} columns", row.size(),
                                   columns->header.size()));
      }
    }
  };
  try {
    for_each_row(text, take);
  } catch (const Error& error) {
    problems.error(file, 0, error.what());
  }
  return runs;
}

Values values_of(const PastRun& run, const Values& defaults) {
  Values values = defaults;
  for (const auto& [name, value] : run.values) values.set(name, value);
  return values;
}

}  // namespace plimsoll::experiment
