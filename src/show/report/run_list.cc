#include "report/run_list.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parallel.h"
#include "base/run_files.h"
#include "base/units.h"
#include "experiment/best.h"
#include "experiment/progress.h"
#include "experiment/run_folder.h"
#include "launch/training_record.h"

namespace plimsoll::report {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHeadBytes = 4096;  // of results.json: what a list shows is in its beginning
constexpr size_t kFoldersAtMost = 200000;
constexpr unsigned kLookingThreads = 4;

bool has(const fs::path& folder, const char* file) {
  std::error_code ignored;
  return fs::exists(folder / file, ignored);
}

// When it was written, in seconds since the epoch; 0 if it is not there.
double written_at(const fs::path& file) {
  struct stat about = {};
  if (::stat(file.c_str(), &about) != 0) return 0;
  return static_cast<double>(about.st_mtim.tv_sec) +
         static_cast<double>(about.st_mtim.tv_nsec) / 1e9;
}

// Takes the plain values of the outermost object, up to a key that a list does not need. The text
// may be cut off anywhere.
class HeadReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::map<std::string, std::string, std::less<>> texts;
  std::map<std::string, double, std::less<>> numbers;

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t value) override { return take(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return take(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return take(value); }
  bool string(string_t& value) override {
    if (depth_ == 1) texts[key_] = value;
    return true;
  }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(size_t /*elements*/) override { return ++depth_ < 8; }
  bool end_object() override { return --depth_ > 0; }
  bool start_array(size_t /*elements*/) override { return ++depth_ < 8; }
  bool end_array() override { return --depth_ > 0; }
  bool key(string_t& value) override {
    if (depth_ == 1) key_ = value;
    return depth_ != 1 || (value != "series" && value != "recipe");
  }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  bool take(double value) {
    if (depth_ == 1) numbers[key_] = value;
    return true;
  }
  int depth_ = 0;
  std::string key_;
};

HeadReader head_of(const fs::path& file) {
  std::string text(kHeadBytes, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(0, stream.gcount())));
  HeadReader reader;
  nlohmann::json::sax_parse(text, &reader);
  return reader;
}

std::string best_of(std::optional<double> valid, std::optional<double> test) {
  if (test) return fmt::format("test {:.1f} %", 100 * *test);
  return valid ? fmt::format("valid {:.1f} %", 100 * *valid) : std::string();
}

// "2024-05-17T09:30:00+02:00"
std::optional<double> seconds_of(const std::string& timestamp) {
  std::tm local = {};
  const char* rest = ::strptime(timestamp.c_str(), "%Y-%m-%dT%H:%M:%S", &local);
  if (rest == nullptr) return std::nullopt;
  std::tm zone = {};
  const bool east = *rest == '+';
  if ((!east && *rest != '-') || ::strptime(rest + 1, "%H:%M", &zone) == nullptr) {
    return std::nullopt;
  }
  const double offset = zone.tm_hour * 3600 + zone.tm_min * 60;
  return static_cast<double>(::timegm(&local)) + (east ? -offset : offset);
}

// The state of a training that does not run now.
FoundState state_named(std::string_view word) {
  using recipe::TrainingStatus;
  switch (recipe::status_named(word)) {
    case TrainingStatus::finished:
    case TrainingStatus::early_stopped:
      return FoundState::finished;
    case TrainingStatus::stopped:
      return FoundState::stopped;
    case TrainingStatus::running:
    case TrainingStatus::interrupted:
    case TrainingStatus::unknown:
      break;
  }
  return FoundState::unknown;
}

void take_diary(const fs::path& folder, FoundRun& run) {
  const auto diary = launch::read_diary(folder);
  if (!diary) return;
  const auto& so_far = diary->so_far;
  run.started = diary->started;
  run.what =
      fmt::format("{} on {}, epoch {} of {}", name(so_far.recipe.model), so_far.dataset,
                  std::max<uint64_t>(diary->epoch, so_far.series.size()), so_far.recipe.epochs);
  run.best = best_of(so_far.valid_accuracy, so_far.test_accuracy);
}

void take_results(const fs::path& folder, FoundRun& run) {
  const HeadReader head = head_of(folder / kResultsFile);
  const auto text = [&](const char* key) {
    const auto found = head.texts.find(key);
    return found == head.texts.end() ? std::string() : found->second;
  };
  const auto number = [&](const char* key) -> std::optional<double> {
    const auto found = head.numbers.find(key);
    return found == head.numbers.end() ? std::nullopt : std::optional(found->second);
  };
  if (text("model").empty() || text("status").empty()) {
    fail(ErrorKind::input, "{}: not the results of a training", (folder / kResultsFile).string());
  }
  run.state = state_named(text("status"));
  if (const auto ended = seconds_of(text("timestamp"))) {
    run.started = *ended - number("training_time").value_or(0);
  }
  run.what = fmt::format("{} on {}", text("model"), text("dataset"));
  if (const auto epochs = number("epochs_run")) {
    run.what += ", " + counted(static_cast<uint64_t>(*epochs), "epoch");
  }
  run.best = best_of(number("valid_acc"), number("test_acc"));
}

bool is_training(const fs::path& folder) {
  return has(folder, kResultsFile) || has(folder, kDiaryFile) || has(folder, kLastCheckpoint);
}

FoundRun look_at_training(const fs::path& folder) {
  FoundRun run{.kind = RunKind::training, .path = folder};
  run.changed = std::max({written_at(folder / kResultsFile), written_at(folder / kDiaryFile),
                          written_at(folder / kLastCheckpoint)});
  const bool running = launch::is_training_now(folder);
  if (!running && has(folder, kResultsFile)) {
    take_results(folder, run);
    return run;
  }
  run.state = running ? FoundState::running : FoundState::interrupted;
  take_diary(folder, run);
  return run;
}

// The seeds of one training are one run.
FoundRun look_at_seeds(const fs::path& folder, const std::vector<fs::path>& seeds) {
  FoundRun all{.kind = RunKind::training, .path = folder, .state = FoundState::finished};
  for (const fs::path& seed : seeds) {
    const FoundRun one = look_at_training(seed);
    if (one.state == FoundState::running) {
      all.state = FoundState::running;
    } else if (one.state != FoundState::finished && all.state == FoundState::finished) {
      all.state = one.state;
    }
    if (one.started && (!all.started || *one.started < *all.started)) all.started = one.started;
    all.changed = std::max(all.changed, one.changed);
    if (all.what.empty()) all.what = one.what;
    if (all.best.empty()) all.best = one.best;
  }
  all.what = fmt::format("{}: {}", counted(seeds.size(), "seed"), all.what);
  return all;
}

// The name of a log of a job: NAME-123.log, NAME-123_4.log as `slurm` asks for, or slurm-123.out.
bool is_job_log(const std::string& name) {
  std::string_view stem = name;
  const bool of_slurm = stem.starts_with("slurm-") && stem.ends_with(".out");
  if (!stem.ends_with(".log") && !of_slurm) return false;
  stem.remove_suffix(4);
  const size_t dash = stem.rfind('-');
  if (dash == std::string_view::npos || dash == 0 || dash + 1 == stem.size()) return false;
  const std::string_view id = stem.substr(dash + 1);
  return id.find_first_not_of("0123456789_") == std::string_view::npos && id.front() != '_';
}

FoundRun look_at_log(const fs::path& file) {
  FoundRun run{.kind = RunKind::job_log, .path = file, .changed = written_at(file)};
  run.what = experiment::last_line(file);
  return run;
}

FoundRun look_at_batch(const fs::path& folder) {
  FoundRun run{.kind = RunKind::batch, .path = folder};
  run.changed =
      std::max(written_at(folder / kJournalFile), written_at(folder / "journal.sqlite-wal"));
  const experiment::KnownRun known = experiment::read_run(folder);
  experiment::Problems ignored(experiment::KeyPolicy::lenient);
  const experiment::ExperimentBatch batch =
      experiment::read_batch(experiment::parse_texts(known.settings), ignored);
  experiment::BestSoFar best(batch.catalog, batch.settings);
  size_t done = 0;
  size_t failed_ones = 0;
  size_t all = 0;
  for (size_t i = 0; i < known.queue.size(); ++i) {
    if (known.queue[i].warmup) continue;
    ++all;
    if (known.entries[i].result.empty()) continue;
    const experiment::ExperimentResult result = experiment::result_of(known.entries[i].result);
    ++done;
    if (failed(result)) ++failed_ones;
    best.add(known.queue[i], result);
  }
  if (!known.attempts.empty()) {  // in the order of the queue
    const experiment::JournalAttempt& first = known.attempts.front();
    const auto parsed = experiment::attempt_of(first.result.empty() ? first.plan : first.result);
    if (parsed.started > 0) run.started = parsed.started;
  }
  run.what = fmt::format("{} of {}", format_count(done), counted(all, "experiment"));
  if (failed_ones > 0) run.what += fmt::format(", {} failed", format_count(failed_ones));
  run.best = best.describe();
  run.state = known.driven            ? FoundState::running
              : !known.paused.empty() ? FoundState::paused
              : done == all           ? FoundState::finished
                                      : FoundState::interrupted;
  return run;
}

// The folders of the seeds in a folder that is no training itself; empty if there are none.
std::vector<fs::path> seeds_in(const fs::path& folder) {
  std::vector<fs::path> seeds = launch::training_folders(folder);
  if (seeds.size() == 1 && seeds.front() == folder) seeds.clear();
  return seeds;
}

struct Candidate {
  RunKind kind = RunKind::training;
  fs::path path;
};

// Looks for runs from `folder` down; does not look into a run.
class Search {
 public:
  explicit Search(const SearchOptions& options) : options_(options) {}

  void look_in(const fs::path& folder, size_t depth) {
    if (found_.size() >= options_.most_runs || ++folders_ > kFoldersAtMost) return;
    if (has(folder, kJournalFile)) {
      found_.push_back({RunKind::batch, folder});
      return;
    }
    if (is_training(folder)) {
      found_.push_back({RunKind::training, folder});
      return;
    }
    std::error_code unreadable;
    std::vector<fs::path> below;
    bool seeds = false;
    for (fs::directory_iterator entry(folder, unreadable), end; !unreadable && entry != end;
         entry.increment(unreadable)) {
      std::error_code ignored;
      const std::string name = entry->path().filename().string();
      if (entry->is_symlink(ignored)) continue;
      if (entry->is_directory(ignored)) {
        seeds = seeds || name.starts_with("seed_");
        if (!name.starts_with('.')) below.push_back(entry->path());
      } else if (is_job_log(name) && entry->is_regular_file(ignored)) {
        found_.push_back({RunKind::job_log, entry->path()});
      }
    }
    if (seeds && !seeds_in(folder).empty()) {
      found_.push_back({RunKind::training, folder});
      return;
    }
    if (depth == 0) return;
    for (const fs::path& one : below) look_in(one, depth - 1);
  }

  const std::vector<Candidate>& found() const { return found_; }

 private:
  SearchOptions options_;
  std::vector<Candidate> found_;
  size_t folders_ = 0;
};

FoundRun look_at(const Candidate& candidate) {
  switch (candidate.kind) {
    case RunKind::batch:
      return look_at_batch(candidate.path);
    case RunKind::job_log:
      return look_at_log(candidate.path);
    case RunKind::training:
      break;
  }
  const std::vector<fs::path> seeds =
      is_training(candidate.path) ? std::vector<fs::path>() : seeds_in(candidate.path);
  return seeds.empty() ? look_at_training(candidate.path) : look_at_seeds(candidate.path, seeds);
}

}  // namespace

std::string_view name(RunKind kind) {
  switch (kind) {
    case RunKind::training:
      return "training";
    case RunKind::batch:
      return "batch";
    case RunKind::job_log:
      break;
  }
  return "Slurm job";
}

std::string_view name(FoundState state) {
  switch (state) {
    case FoundState::running:
      return "running";
    case FoundState::finished:
      return "finished";
    case FoundState::stopped:
      return "stopped";
    case FoundState::interrupted:
      return "interrupted";
    case FoundState::paused:
      return "paused";
    case FoundState::unknown:
      break;
  }
  return "unknown";
}

std::vector<FoundRun> find_runs(const fs::path& folder, const SearchOptions& options) {
  Search search(options);
  search.look_in(folder, options.depth);
  const std::vector<Candidate>& candidates = search.found();
  std::vector<std::optional<FoundRun>> looked(candidates.size());
  parallel_for(std::min(kLookingThreads, available_threads()), candidates.size(), [&](size_t i) {
    try {
      looked[i] = look_at(candidates[i]);
      looked[i]->name = candidates[i].path.lexically_relative(folder).string();
    } catch (const Error&) {
      looked[i].reset();  // not what its name says
    } catch (const fs::filesystem_error&) {
      looked[i].reset();  // removed meanwhile, or not ours to read
    }
  });
  std::vector<FoundRun> runs;
  for (auto& one : looked) {
    if (one) runs.push_back(std::move(*one));
  }
  std::ranges::sort(runs, [](const FoundRun& a, const FoundRun& b) {
    if (a.changed != b.changed) return a.changed > b.changed;
    return a.name < b.name;
  });
  return runs;
}

std::optional<FoundRun> look_at(const fs::path& path) {
  std::error_code ignored;
  std::optional<FoundRun> run;
  if (fs::is_regular_file(path, ignored)) {
    if (is_job_log(path.filename().string())) run = look_at_log(path);
  } else if (has(path, kJournalFile)) {
    run = look_at_batch(path);
  } else if (is_training(path) || !seeds_in(path).empty()) {
    run = look_at(Candidate{RunKind::training, path});
  }
  if (!run) return run;
  const fs::path named = path.has_filename() ? path : path.parent_path();
  run->name = named.filename().string();
  if (run->name == "." || run->name == ".." || run->name.empty()) {
    run->name = fs::absolute(named, ignored).lexically_normal().filename().string();
  }
  return run;
}

}  // namespace plimsoll::report
