// What a batch will do, and what a model config offers, as text on standard output.
#pragma once

#include <filesystem>

#include "experiment/batch.h"

namespace plimsoll::experiment {

// Each entry with its number of experiments, the total, the seed.
void print_plan(const experiment::ExperimentBatch& batch, const experiment::BatchTexts& source);

// Besides, every draw, command and expected time; the latter by the runs in `results`.
void print_dry_run(const experiment::ExperimentBatch& batch, const experiment::BatchTexts& source,
                   const std::filesystem::path& results);

void print_catalog(const experiment::Catalog& catalog);

}  // namespace plimsoll::experiment
