// The text of an sbatch script, from values. Pure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::slurm {

// A line `#SBATCH --key=value`, or `#SBATCH --key` without a value.
struct SbatchOption {
  std::string key;
  std::string value;
};
// Parses "KEY=VALUE" or "KEY", with or without dashes before it. Throws Error{usage}.
SbatchOption parse_sbatch_option(const std::string& text);

struct ScriptRequest {
  std::string made_by;  // the command line that printed it
  std::string job_name;
  std::string folder;                    // where the job runs
  std::optional<uint64_t> memory_bytes;  // nothing: no --mem
  std::optional<double> seconds;         // nothing: no --time
  unsigned cpus = 1;
  unsigned gpus = 0;
  unsigned warning_seconds = 60;      // from SIGUSR1 to the time limit
  std::vector<SbatchOption> options;  // the user's; they replace ours
  std::vector<std::string> notes;     // comments that say where the figures come from
  std::vector<std::string> command;   // the words of its command, each quoted for a shell
};
// Throws Error{usage} if a value cannot stand in a line.
std::string script_text(const ScriptRequest& request);

// Whether the user's options make the job an array.
bool is_array(const std::vector<SbatchOption>& options);

// "plimsoll-models" for a run in models.
std::string default_job_name(const std::filesystem::path& folder);

// "2-03:00:00", rounded up to whole minutes, as Slurm counts.
std::string format_limit(double seconds);

// How long before the time limit Slurm must warn the job. In this time a batch ends and a
// checkpoint is written. Generous, because a late warning loses the work since the last checkpoint.
unsigned warning_seconds(double seconds_a_batch, uint64_t checkpoint_bytes);

}  // namespace plimsoll::slurm
