// The energy recorder of a batch, opened for its GPUs and with its idle baseline.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "energy/recorder.h"

namespace plimsoll::energy {

struct EnergyUse {
  std::string gpus;                  // as exec's --gpu; empty: none
  double idle_baseline_seconds = 0;  // measured now; 0: the run's own, if it has one
  std::filesystem::path folder;      // of the run
  std::function<void(const std::string&)> say;
};

// Says what is measured with what. Takes as long as the baseline does.
std::unique_ptr<energy::Recorder> open_recorder(const EnergyUse& use);

}  // namespace plimsoll::energy
