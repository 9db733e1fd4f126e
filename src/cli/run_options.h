// The command line of `plimsoll run`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "experiment/batch_run.h"

namespace plimsoll::cli {

struct BatchOptions {
  experiment::BatchRequest request;
  experiment::BatchRunOptions driving;
  std::string resume;  // a folder, or kAutoResume
  bool list = false;
  bool dry_run = false;
  bool wait = false;
  bool retry_failed = false;
  bool no_steps = false;
};

// `options` must live until the command has run.
void add_run_options(CLI::App& command, BatchOptions& options);

// Throws Error{usage} for options that would have no effect.
void check_words(const BatchOptions& options);

}  // namespace plimsoll::cli
