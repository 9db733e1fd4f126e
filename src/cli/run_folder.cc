#include "cli/run_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <system_error>

#include "base/error.h"
#include "experiment/catalog.h"
#include "experiment/outputs.h"

namespace plimsoll::cli {

namespace fs = std::filesystem;

fs::path make_run_folder(const fs::path& results) {
  std::error_code error;
  const bool made = fs::create_directories(results, error);
  if (error) fail_errno("make", results.string(), error.value());
  if (made) experiment::give_to_caller(results);
  const time_t now = std::time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "run_%Y%m%d_%H%M%S", &parts);
  for (unsigned copy = 1;; ++copy) {
    fs::path folder =
        fs::absolute(results) / (copy == 1 ? text.data() : fmt::format("{}_{}", text.data(), copy));
    if (fs::create_directory(folder, error)) return folder;
    if (error) fail_errno("make", folder.string(), error.value());
  }
}

fs::path lock_file(const fs::path& run) { return run / "driver.lock"; }

fs::path gpu_lock_file(const std::string& uuid) {
  const fs::path usual = "/run/lock";  // everybody may write there, on most systems
  const bool works = access(usual.c_str(), W_OK | X_OK) == 0;
  return (works ? usual : fs::path("/tmp")) / fmt::format("plimsoll-{}.lock", uuid);
}

std::string resume_command(const fs::path& run) {
  return "plimsoll run --resume " + experiment::shell_word(run.string());
}

std::string describe_pause(const std::string& cause) {
  return "paused: five failures in a row with one cause: " + cause;
}

KnownRun read_run(const fs::path& folder) {
  const auto journal = experiment::Journal::open_to_read(folder);
  KnownRun run{.folder = fs::absolute(folder),
               .queue = {},
               .entries = journal.entries(),
               .attempts = journal.attempts(),
               .paused = journal.paused(),
               .driven = experiment::RunLock::is_taken(lock_file(folder))};
  for (const auto& entry : run.entries) run.queue.push_back(experiment::experiment_of(entry.plan));
  return run;
}

}  // namespace plimsoll::cli
