// The runs under a folder: trainings, batches, and logs of Slurm jobs. Cheap: of each run only the
// beginning of one file is read, so that thousands are listed at once.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::report {

enum class RunKind { training, batch, job_log };
std::string_view name(RunKind kind);  // "training", "batch", "Slurm job"

enum class FoundState { running, finished, stopped, interrupted, paused, unknown };
std::string_view name(FoundState state);

struct FoundRun {
  RunKind kind = RunKind::training;
  std::string name;  // its path below the folder that was searched; "." if it is that folder
  std::filesystem::path path;
  FoundState state = FoundState::unknown;
  std::optional<double> started;  // seconds since the epoch
  double changed = 0;             // when its newest file was written, in the same seconds
  std::string what;               // "sage on cora", "12 of 20 experiments"
  std::string best;               // "test 81.2 %", "loss 0.41"; empty if there is none yet
};

struct SearchOptions {
  size_t depth = 4;          // of folders below the one that is searched
  size_t most_runs = 10000;  // the rest is not listed
};

// Newest first. Folders that cannot be read, and files that are not what their names say, are left
// out. Symbolic links to folders are not followed.
std::vector<FoundRun> find_runs(const std::filesystem::path& folder,
                                const SearchOptions& options = {});

// The run at exactly this path (a folder, or the log of a job); nothing if it is none.
std::optional<FoundRun> look_at(const std::filesystem::path& path);

}  // namespace plimsoll::report
