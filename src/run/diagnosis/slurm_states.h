// The states of a Slurm job, as sacct and squeue print them. Names and meanings come from Slurm's
// manual; the causes and remedies are ours. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/circumstances.h"
#include "diagnosis/verdict.h"
#include "slurm/requeue.h"

namespace plimsoll::diagnosis {

struct LikelyCause;

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

std::vector<LikelyCause> causes_of_state(const SlurmState& state, const Circumstances& now);

// What decides about the job of a command that has ended. Not pure: asks Slurm why it stopped, if
// it stopped before its work was done.
slurm::EndFacts end_facts(const process::Ending& ending, const Verdict& verdict,
                          const slurm::OwnJob& job);

}  // namespace plimsoll::diagnosis
