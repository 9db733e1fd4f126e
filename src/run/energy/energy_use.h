// Opens the energy recorder of a batch, with its GPUs and its idle baseline.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "energy/recorder.h"

namespace plimsoll::energy {

struct EnergyUse {
  std::string gpus;                  // like exec's --gpu; empty: no GPU is measured
  double idle_baseline_seconds = 0;  // measure it now; 0: use the one in the folder, if any
  std::filesystem::path folder;      // of the run
  std::function<void(const std::string&)> say;
};

// Prints what is measured and how. Blocks while the baseline is measured.
std::unique_ptr<energy::Recorder> open_recorder(const EnergyUse& use);

}  // namespace plimsoll::energy
