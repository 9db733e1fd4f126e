#include "serve/report_views.h"

#include "base/error.h"
#include "launch/training_record.h"
#include "report/page.h"
#include "report/run_data.h"
#include "serve/address.h"

namespace plimsoll::serve {
namespace {

namespace fs = std::filesystem;

// Of several seeds, those of the first.
TrainingFigures figures_of(const fs::path& run) {
  TrainingFigures figures;
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
