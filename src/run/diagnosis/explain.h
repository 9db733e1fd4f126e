// Explains how a command or a Slurm job ended: the possible causes of an exit code, a signal or a
// state, the likeliest on this machine first. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/circumstances.h"
#include "process/ending.h"

namespace plimsoll::diagnosis {

// A state of a Slurm job, as sacct and squeue print it. Names and meanings come from Slurm's
// manual.
struct SlurmState {
  std::string_view name;     // "OUT_OF_MEMORY"
  std::string_view brief;    // "OOM", as squeue prints it
  std::string_view meaning;  // follows "the job": "ran out of memory and was ended"
};

// Accepts the full or brief name in any case, and sacct's forms: "CANCELLED by 1000", and names cut
// to the column width, "OUT_OF_ME+".
std::optional<SlurmState> slurm_state(std::string_view text);

// All full names.
std::vector<std::string> slurm_state_names();

// How a command ended, in the forms that users see: "137", "-9" (Python), "SIGKILL", and Slurm's
// "0:9" and "0:125" (exit code and signal) or "OUT_OF_MEMORY" (a job's state).
struct Code {
  std::string text;
  int exit_code = 0;
  std::optional<int> signal;  // also n for a shell's 128 + n
  bool from_slurm = false;
  std::optional<SlurmState> state;  // if set, exit_code and signal are not
};
std::optional<Code> parse_code(std::string_view text);

// The signal or state most similar to a word that parse_code() does not know.
std::optional<std::string> nearest_code(std::string_view text);

std::string signal_name(int number);  // "SIGKILL", "signal 42"

// The signal that an exit code stands for: 137 -> 9, as shells, pipes with pipefail and srun report
// a command that a signal ended; 247 -> 9, the result of sys.exit(-9) in a Python launcher. Nothing
// for an ordinary code.
std::optional<int> signal_behind(int exit_code);

// The signal that ended the leader, or the one that its exit code stands for.
std::optional<int> ending_signal(const process::LeaderEnd& end);

constexpr int kSlurmOutOfMemory = 125;  // not a real signal: Slurm uses this number itself

struct LikelyCause {
  int weight = 0;  // larger is likelier; only the order counts
  std::string what;
  std::string evidence;   // may be empty
  std::string next_step;  // may be empty
};

// The possible causes, each with a weight for this machine.
std::vector<LikelyCause> causes_of(const Code& code, const Circumstances& now);
std::vector<LikelyCause> causes_of_state(const SlurmState& state, const Circumstances& now);

struct Explanation {
  std::string headline;             // "137 = 128 + 9: the command was ended by SIGKILL, ..."
  std::vector<LikelyCause> causes;  // the likeliest first
  std::string introduction = "On this machine, now, the likeliest first:";  // before the causes
};

Explanation explain(const Code& code, const Circumstances& now);

std::string describe(const Explanation& explanation);
nlohmann::ordered_json to_json(const Explanation& explanation);

}  // namespace plimsoll::diagnosis
