// The runs under a folder as the pages show them now, and who waits for them to change. One thread
// looks at the files; pages wait here and read finished texts.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_list.h"
#include "serve/folder_look.h"

namespace plimsoll::serve {

// A finished text, shared by all connections that send it.
using SharedText = std::shared_ptr<const std::string>;

// A page's body and its version: as long as the version is the same, so is the body.
struct Body {
  std::string title;
  std::string version;
  SharedText text;
};

// The figures of a training for /metrics. What is not known is empty.
struct TrainingMetrics {
  std::optional<double> epoch;
  std::optional<double> loss;
  std::optional<double> best_valid;
  std::optional<double> peak_memory_bytes;
};

// The functions that the board takes runs from: report_views() in the program. Several threads may
// call them at a time.
struct RunViews {
  std::function<std::vector<report::FoundRun>(const std::filesystem::path& folder)> find;
  std::function<std::optional<report::FoundRun>(const std::filesystem::path& run)> look_at;
  std::function<std::string(const std::vector<report::FoundRun>& runs)> list_body;
  std::function<std::string(const std::filesystem::path& run)> run_body;  // may throw Error
  std::function<TrainingMetrics(const std::filesystem::path& run)> figures;
};

// A run for metrics_text().
struct MeasuredRun {
  report::RunKind kind = report::RunKind::training;
  report::FoundState state = report::FoundState::unknown;
  std::string name;
  std::optional<TrainingMetrics> figures;
};

// May be used by any thread. Memory: a few hundred bytes a run, and kMostKeptBytes of bodies.
class RunBoard {
 public:
  static constexpr size_t kMostKeptBytes = 4 << 20;  // of bodies, beside the one in use

  // `folder` must be canonical.
  RunBoard(std::filesystem::path folder, RunViews views);

  // Looks at the files unless another thread did within `age`, and wakes those who wait for what
  // changed. In folders with very many files or changes it looks less often.
  void look(std::chrono::milliseconds age);

  size_t runs() const;
  Body list();
  // Nothing if there is no such run (any more).
  std::optional<Body> run(const std::string& id);
  // All runs; the newest trainings with their figures.
  std::vector<MeasuredRun> measured();

  // The version of a page: of the run, or of the list if `id` is empty. Empty if there is none.
  std::string version(const std::string& id) const;
  // Waits until the version is not `seen`, at most for `patience` or until stop(). Returns the
  // version then.
  std::string wait(const std::string& id, const std::string& seen,
                   std::chrono::milliseconds patience) const;
  // Ends all waiting, now and from now on.
  void stop();
  bool stopped() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Row {
    report::FoundRun run;
    uint64_t files = 0;  // the mark of its folder
    uint64_t version = 0;
    std::optional<TrainingMetrics> figures;  // of figures_version
    uint64_t figures_version = 0;
  };
  struct Kept {
    std::string id;
    Body body;
  };
  bool is_shown(const report::FoundRun& run) const;
  std::optional<report::FoundRun> look_at(const std::filesystem::path& path) const;
  void refresh(const FolderMarks& marks);
  void search(const FolderMarks& marks);
  uint64_t version_of_all() const;
  std::string version_here(const std::string& id) const;
  std::optional<Body> kept(const std::string& id, const std::string& version) const;
  void keep(const std::string& id, const Body& body);

  const std::filesystem::path folder_;
  const RunViews views_;
  std::mutex looking_;        // one look at a time; taken before mutex_
  std::mutex making_;         // one body at a time, for its memory; taken before mutex_
  mutable std::mutex mutex_;  // guards all that follows
  mutable std::condition_variable changed_;
  Clock::time_point last_look_;
  Clock::duration pause_{};  // before the next look, so that looking does not take all of the time
  Clock::time_point last_check_;  // of whether running ones still run
  bool looked_ = false;
  FolderMarks marks_;
  std::map<std::string, Row> rows_;  // by id
  uint64_t list_version_ = 0;
  std::deque<Kept> kept_;  // the newest first
  bool stopped_ = false;
};

// The runs as the report shows them.
RunViews report_views();

}  // namespace plimsoll::serve
