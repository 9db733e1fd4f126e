// Runs of a simple kind, for tests: folders with a results.json, whose text is what pages show.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "serve/run_board.h"
#include "temp_folder.h"

namespace plimsoll::serve {

// One that says "running" does.
inline std::optional<report::FoundRun> look_at_simple(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path / "results.json")) return std::nullopt;
  report::FoundRun run;
  run.path = path;
  run.what = read_file(path / "results.json");
  run.state = run.what == "running" ? report::FoundState::running : report::FoundState::finished;
  return run;
}

inline RunViews simple_views() {
  return {.find =
              [](const std::filesystem::path& folder) {
                std::vector<report::FoundRun> runs;
                for (const auto& entry : std::filesystem::directory_iterator(folder)) {
                  auto run = look_at_simple(entry.path());
                  if (!run) continue;
                  run->name = entry.path().filename().string();
                  runs.push_back(*run);
                }
                return runs;
              },
          .look_at = look_at_simple,
          .list_body =
              [](const std::vector<report::FoundRun>& runs) {
                std::string text;
                for (const report::FoundRun& run : runs) text += run.name + ": " + run.what + "\n";
                return text;
              },
          .run_body =
              [](const std::filesystem::path& run) {
                const std::string text = read_file(run / "results.json");
                if (text == "damaged") fail(ErrorKind::input, "<damaged>");
                return text;
              },
          .figures = [](const std::filesystem::path&) { return TrainingMetrics{.epoch = 3}; }};
}

}  // namespace plimsoll::serve
