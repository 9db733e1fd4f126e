// The causes that an exit code or a signal can have, each with a weight for this machine.
#pragma once

#include <vector>

#include "diagnosis/explain.h"

namespace plimsoll::diagnosis {

constexpr int kSlurmOutOfMemory = 125;  // no signal has this number: Slurm took it for itself

std::vector<LikelyCause> causes_of(const Code& code, const Circumstances& now);

}  // namespace plimsoll::diagnosis
