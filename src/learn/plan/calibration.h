// Measures the machine: its disk, how fast it makes batches, its training steps.
#pragma once

#include <filesystem>
#include <functional>

#include "base/host.h"
#include "memory/ledger.h"
#include "plan/machine.h"

namespace plimsoll::plan {

// Measures training steps with `computing` threads, while the other threads make batches.
using MeasureSteps = std::function<StepRates(unsigned computing, memory::Ledger& ledger)>;

// Takes about six seconds, and up to 640 MiB of the ledger: with less, rows would be in the CPU's
// caches and the rates too high. Reads `file`, bypassing the page cache if the file system allows.
// A large file gives better rates, because a disk has caches, too. If the path or the file is
// empty, the read rates are 0. Without `measure_steps` the step rates stay unknown. Throws
// Error{io} if the file cannot be read.
Machine calibrate(const std::filesystem::path& file, unsigned threads,
                  const MeasureSteps& measure_steps, memory::Ledger& ledger,
                  const Host& host = Host::real());

}  // namespace plimsoll::plan
