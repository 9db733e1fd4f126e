// The states of a Slurm job, as sacct and squeue print them. The words and what they mean are those
// of Slurm's own manual; the causes behind them and the remedies are ours. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/circumstances.h"

namespace plimsoll::diagnosis {

struct LikelyCause;

struct SlurmState {
  std::string_view name;     // "OUT_OF_MEMORY"
  std::string_view brief;    // "OOM", as squeue has it
  std::string_view meaning;  // behind "the job": "ran out of memory and was ended"
};

// In capitals or not, in full or brief; also as sacct prints it: "CANCELLED by 1000", and cut to
// the width of its column, "OUT_OF_ME+".
std::optional<SlurmState> slurm_state(std::string_view text);

// All full names.
std::vector<std::string> slurm_state_names();

std::vector<LikelyCause> causes_of_state(const SlurmState& state, const Circumstances& now);

}  // namespace plimsoll::diagnosis
