// The logs of one run in its folder, as --log asks for them: TensorBoard's events, history.csv,
// history.jsonl and metrics.prom. A run that is resumed from an earlier step continues them: no
// step is there twice, and none is missing.
//
// The writer's steps, such as a checkpoint's, are authoritative; the files follow them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "track/event_file.h"
#include "track/event_message.h"
#include "track/prometheus_text.h"

namespace plimsoll::track {

// The logs that --log can ask for.
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

// A text file with one line a step, in ascending order: history.csv and history.jsonl. Opening it
// again cuts off steps that are trained again, and a line that a crash left half written.
class LineLog {
 public:
  struct Layout {
    std::string header;       // the first line; empty: none
    std::string before_step;  // what every other line begins with, before the number of its step
  };
  // Keeps the lines up to `last_step`. A file with another header is written anew. Throws Error.
  LineLog(const std::filesystem::path& file, const Layout& layout, uint64_t last_step);

  // The step of the last line; 0 if there is none.
  uint64_t last_step() const { return last_step_; }

  // Appends a line, without its end. Throws Error.
  void add(std::string_view line);

 private:
  std::string path_;
  Fd file_;
  uint64_t last_step_ = 0;
};

// One figure of a step.
struct LogColumn {
  std::string name;  // in tables: "valid_acc"; also of the metric for Prometheus
  std::string tag;   // in TensorBoard: "accuracy/valid"
  std::string help;  // for Prometheus: "Accuracy on the validation nodes."
};

struct StepLogOptions {
  std::filesystem::path folder;  // must exist
  LogKinds kinds;                // optuna is ignored here
  std::string step_name = "epoch";
  std::vector<LogColumn> columns;
  std::vector<LoggedSetting> settings;
  std::string group;  // of TensorBoard's repeats of one configuration; may be empty
  std::vector<std::string> final_tags;  // of the scalars that end() gets, for the hparams page
  std::string metric_prefix;            // of Prometheus' names: "plimsoll_train_"
  std::vector<PrometheusLabel> labels;
  // Told once about each log that cannot be written any more; the run goes on without it.
  std::function<void(const std::string&)> failed;
};

struct LogStep {
  uint64_t step = 0;           // from 1
  double time = 0;             // seconds since 1970
  std::vector<double> values;  // one per column; NaN: there is none
};

class StepLog {
 public:
  // `past`: the steps so far, ascending; all others that the files have are removed, and those
  // that the files lack at their end are added. Throws Error if a file cannot be written.
  StepLog(StepLogOptions options, std::span<const LogStep> past, double time);
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;

  // metrics.prom follows at most once a second; end() brings it up to date.
  void add(const LogStep& step);

  // How the run ended: "finished". A run that can be resumed is not `over`.
  struct Ending {
    std::string state;
    bool over = true;
    bool success = true;
    std::vector<Scalar> results;  // final figures, by their tags
    double time = 0;
  };
  void end(const Ending& ending);

  std::string names() const { return format_logs(options_.kinds); }

 private:
  void open(std::span<const LogStep> past, double time);
  void open_events(std::span<const LogStep> past, double time);
  void write_events(const LogStep& step);
  void write_prometheus(const LogStep& step, std::string_view state);
  static std::string table_line(const LogStep& step);
  std::string json_line(const LogStep& step) const;
  // Runs `write` unless this log has failed before.
  template <typename Write>
  void attempt(LogKind kind, const Write& write);

  StepLogOptions options_;
  std::unique_ptr<EventFile> events_;
  std::unique_ptr<LineLog> table_;
  std::unique_ptr<LineLog> lines_;
  LogStep last_;
  double prometheus_time_ = 0;  // of the step that metrics.prom shows
};

}  // namespace plimsoll::track
