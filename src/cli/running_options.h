// The options of a run on a store: of train and predict, some of them also of plan.
#pragma once

#include <CLI/CLI.hpp>

#include "launch/running.h"
#include "launch/train_module.h"

namespace plimsoll::cli {

// Here and below, what is set must live until the command has run.
void add_running_options(CLI::App& command, launch::RunningOptions& options);
// Those of them that say what to compute with: --device, --workers, --window, --threads.
void add_device_options(CLI::App& command, launch::RunningOptions& options);
// --ranks N
void add_ranks(CLI::App& command, unsigned& ranks);

// The GPUs that a training can use here.
launch::GpuFacts gpu_facts();

}  // namespace plimsoll::cli
