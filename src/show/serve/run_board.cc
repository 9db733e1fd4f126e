#include "serve/run_board.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/run_files.h"
#include "launch/training_record.h"
#include "plot/svg.h"
#include "report/page.h"
#include "report/run_data.h"
#include "serve/request.h"

namespace plimsoll::serve {
namespace {

namespace fs = std::filesystem;
using report::FoundRun;
using report::FoundState;
using report::RunKind;

constexpr auto kCheckRunningEvery = std::chrono::seconds(2);
// Looking takes at most a tenth of the time, and with what changed is read at most a fourth.
constexpr int kPausesPerLook = 9;
constexpr int kPausesPerReading = 3;
constexpr size_t kMostMeasured = 1000;  // trainings

// Everything of a run that a list shows.
uint64_t version_of(const FoundRun& run, uint64_t files) {
  const uint64_t content =
      run.kind == RunKind::job_log ? std::bit_cast<uint64_t>(run.changed) : files;
  uint64_t version = mixed(content, static_cast<uint64_t>(run.state));
  version = mixed(version, run.what);
  return mixed(version, run.best);
}

std::string text_of(uint64_t version) { return fmt::format("{:016x}", version); }

// The mark of a run: of its folder, and of those below it, as seed_1 of several seeds.
uint64_t files_of(const FoundRun& run, const FolderMarks& marks) {
  const std::string folder =
      run.kind == RunKind::job_log ? fs::path(run.name).parent_path().generic_string() : run.name;
  const auto own = marks.find(folder.empty() ? "." : folder);
  uint64_t mark = own == marks.end() ? 0 : own->second;
  if (run.kind != RunKind::training) return mark;
  const std::string prefix = folder == "." ? "" : folder + "/";
  for (auto below = marks.lower_bound(prefix);
       below != marks.end() && below->first.starts_with(prefix); ++below) {
    mark = mixed(mark, below->second);
  }
  return mark;
}

bool is_shown_file(std::string_view name) {
  return name.ends_with(".json") || name.ends_with(".log") || name.starts_with(kJournalFile);
}

std::string error_body(const FoundRun& run, const std::string& what) {
  return fmt::format("<h1>{}</h1>\n<p role=\"alert\">This run cannot be shown: {}</p>\n",
                     plot::escaped(run.name), plot::escaped(what));
}

// With several seeds, the figures are those of the first.
TrainingMetrics figures_of(const fs::path& run) {
  TrainingMetrics figures;
  try {
    const auto folders = launch::training_folders(run);
    if (folders.empty()) return figures;
    const bool runs = launch::is_training_now(folders.front());
    const auto diary = runs ? launch::read_diary(folders.front()) : std::nullopt;
    const launch::TrainingRecord record =
        diary ? diary->so_far : launch::read_training(folders.front());
    figures.epoch = static_cast<double>(record.series.size());
    if (!record.series.empty()) figures.loss = record.series.back().loss;
    if (diary && diary->loss) figures.loss = diary->loss;
    figures.best_valid = record.valid_accuracy;
    if (record.peak_memory_bytes > 0) {
      figures.peak_memory_bytes = static_cast<double>(record.peak_memory_bytes);
    }
  } catch (const Error&) {
    // Damaged or just removed: the run's page says so.
  }
  return figures;
}

}  // namespace

RunBoard::RunBoard(fs::path folder, RunViews views)
    : folder_(std::move(folder)), views_(std::move(views)) {}

// A link in a run's folder must not show a file of somewhere else.
bool RunBoard::is_shown(const FoundRun& run) const {
  if (!stays_inside(folder_, run.path)) return false;
  if (run.kind == RunKind::job_log) return true;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(run.path, unreadable)) {
    const std::string name = entry.path().filename().string();
    const bool seed = run.kind == RunKind::training && name.starts_with("seed_");
    if (!seed && !is_shown_file(name)) continue;
    if (entry.is_symlink() && !stays_inside(folder_, entry.path())) return false;
    if (!seed) continue;
    for (const auto& below : fs::directory_iterator(entry.path(), unreadable)) {
      if (is_shown_file(below.path().filename().string()) && below.is_symlink() &&
          !stays_inside(folder_, below.path())) {
        return false;
      }
    }
  }
  return true;
}

std::optional<FoundRun> RunBoard::look_at(const fs::path& path) const {
  try {
    return views_.look_at(path);
  } catch (const Error&) {
    return std::nullopt;  // damaged, or just removed
  }
}

void RunBoard::look(std::chrono::milliseconds age) {
  const std::lock_guard one_at_a_time(looking_);
  {
    const std::lock_guard lock(mutex_);
    const Clock::duration pause = std::max<Clock::duration>(age, pause_);
    if (looked_ && Clock::now() - last_look_ < pause && age.count() > 0) return;
  }
  const Clock::time_point start = Clock::now();
  const FolderMarks marks = look_into(folder_);
  const Clock::duration look_took = Clock::now() - start;
  bool same_folders = false;
  {
    const std::lock_guard lock(mutex_);
    same_folders = looked_ && marks.size() == marks_.size() &&
                   std::equal(marks.begin(), marks.end(), marks_.begin(),
                              [](const auto& a, const auto& b) { return a.first == b.first; });
  }
  same_folders ? refresh(marks) : search(marks);
  const std::lock_guard lock(mutex_);
  marks_ = marks;
  last_look_ = Clock::now();
  pause_ = std::max(kPausesPerLook * look_took, kPausesPerReading * (last_look_ - start));
  looked_ = true;
  const uint64_t version = version_of_all();
  if (version == list_version_) return;
  list_version_ = version;
  changed_.notify_all();
}

// The folders are the same: only runs whose files changed are looked at again, and now and then
// those that run, because a process that was killed changes no file.
void RunBoard::refresh(const FolderMarks& marks) {
  std::vector<std::pair<std::string, FoundRun>> again;
  std::set<std::string> known;
  bool new_run = false;
  {
    const std::lock_guard lock(mutex_);
    const bool check = Clock::now() - last_check_ >= kCheckRunningEvery;
    if (check) last_check_ = Clock::now();
    for (const auto& [id, row] : rows_) {
      known.insert(row.run.name);
      const bool runs = row.run.state == FoundState::running;
      if (files_of(row.run, marks) != row.files || (runs && check)) again.emplace_back(id, row.run);
    }
    // A file that makes a run of its folder, such as the first progress.json.
    for (const auto& [name, mark] : marks)
      new_run |= !known.contains(name) && marks_.at(name) != mark;
  }
  if (new_run) return search(marks);
  for (const auto& [id, before] : again) {
    std::optional<FoundRun> now = look_at(before.path);
    const std::lock_guard lock(mutex_);
    if (!now || !is_shown(*now)) {
      rows_.erase(id);
      continue;
    }
    now->name = before.name;
    Row& row = rows_.at(id);
    row.files = files_of(*now, marks);
    row.version = version_of(*now, row.files);
    row.run = std::move(*now);
  }
}

void RunBoard::search(const FolderMarks& marks) {
  std::map<std::string, Row> rows;
  for (FoundRun& run : views_.find(folder_)) {
    if (!is_shown(run)) continue;
    Row row;
    row.files = files_of(run, marks);
    row.version = version_of(run, row.files);
    row.run = std::move(run);
    rows.emplace(id_of(row.run.name), std::move(row));
  }
  const std::lock_guard lock(mutex_);
  rows_ = std::move(rows);
  last_check_ = Clock::now();
}

uint64_t RunBoard::version_of_all() const {
  uint64_t version = rows_.size() + 1;
  for (const auto& [id, row] : rows_) version = mixed(mixed(version, id), row.version);
  return version;
}

size_t RunBoard::runs() const {
  const std::lock_guard lock(mutex_);
  return rows_.size();
}

std::string RunBoard::version_here(const std::string& id) const {
  if (id.empty()) return text_of(list_version_);
  const auto row = rows_.find(id);
  return row == rows_.end() ? "" : text_of(row->second.version);
}

std::string RunBoard::version(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return version_here(id);
}

std::string RunBoard::wait(const std::string& id, const std::string& seen,
                           std::chrono::milliseconds patience) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return stopped_ || version_here(id) != seen; });
  return version_here(id);
}

void RunBoard::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

bool RunBoard::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

std::optional<Body> RunBoard::kept(const std::string& id, const std::string& version) const {
  const std::lock_guard lock(mutex_);
  for (const Kept& one : kept_) {
    if (one.id == id && one.body.version == version) return one.body;
  }
  return std::nullopt;
}

void RunBoard::keep(const std::string& id, const Body& body) {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const Kept& one) { return one.id == id; });
  kept_.push_front({id, body});
  size_t bytes = 0;
  for (auto one = kept_.begin(); one != kept_.end(); ++one) {
    bytes += one->body.text->size();
    if (bytes <= kMostKeptBytes) continue;
    kept_.erase(one, kept_.end());
    break;
  }
}

Body RunBoard::list() {
  const std::lock_guard one_at_a_time(making_);
  std::string version = this->version("");
  if (auto body = kept("", version)) return *body;
  std::vector<FoundRun> runs;
  {
    const std::lock_guard lock(mutex_);
    version = text_of(list_version_);
    for (const auto& [id, row] : rows_) runs.push_back(row.run);
  }
  std::sort(runs.begin(), runs.end(), [](const FoundRun& a, const FoundRun& b) {
    return std::pair(-a.changed, std::string_view(a.name)) <
           std::pair(-b.changed, std::string_view(b.name));
  });
  Body body{.title = "Runs",
            .version = version,
            .text = std::make_shared<const std::string>(views_.list_body(runs))};
  keep("", body);
  return body;
}

std::optional<Body> RunBoard::run(const std::string& id) {
  const std::lock_guard one_at_a_time(making_);
  FoundRun found;
  std::string version;
  {
    const std::lock_guard lock(mutex_);
    const auto row = rows_.find(id);
    if (row == rows_.end()) return std::nullopt;
    found = row->second.run;
    version = text_of(row->second.version);
  }
  if (auto body = kept(id, version)) return body;
  std::string text;
  try {
    text = views_.run_body(found.path);
  } catch (const Error& error) {
    text = error_body(found, error.what());
  }
  ::malloc_trim(0);  // loading takes more than what is kept
  const Body body{.title = found.name,
                  .version = version,
                  .text = std::make_shared<const std::string>(std::move(text))};
  keep(id, body);
  return body;
}

std::vector<MeasuredRun> RunBoard::measured() {
  const std::lock_guard one_at_a_time(making_);
  std::vector<std::pair<std::string, Row>> rows;
  {
    const std::lock_guard lock(mutex_);
    rows.assign(rows_.begin(), rows_.end());
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.run.changed > b.second.run.changed;
  });
  size_t left = kMostMeasured;
  std::vector<MeasuredRun> runs;
  for (const auto& [id, row] : rows) {
    MeasuredRun run{.kind = row.run.kind, .state = row.run.state, .name = row.run.name};
    if (run.kind == RunKind::training && left > 0) {
      --left;
      const bool known = row.figures && row.figures_version == row.version;
      run.figures = known ? *row.figures : views_.figures(row.run.path);
      const std::lock_guard lock(mutex_);
      const auto there = rows_.find(id);
      if (there != rows_.end()) {
        there->second.figures = run.figures;
        there->second.figures_version = row.version;
      }
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

RunViews report_views() {
  return {.find = [](const fs::path& folder) { return report::find_runs(folder); },
          .look_at = report::look_at,
          .list_body =
              [](const std::vector<report::FoundRun>& runs) {
                return report::list_body(
                    runs, [](const report::FoundRun& run) { return page_of(id_of(run.name)); });
              },
          .run_body = [](const fs::path& run) { return report::run_body(report::load_run(run)); },
          .figures = figures_of};
}

}  // namespace plimsoll::serve
