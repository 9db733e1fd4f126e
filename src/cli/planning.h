// From a command's options to the plan it runs by; shared by plan, train and predict.
#pragma once

#include "cli/running.h"
#include "graph/store.h"
#include "memory/limit.h"
#include "plan/plan.h"
#include "recipe/recipe.h"

namespace plimsoll::cli {

// The limit of a training: the flag where it is smaller than what was detected; without one, what
// was detected less a reserve for the rest of the machine (docs/memory.md).
memory::Limit training_limit(const RunningOptions& options);

// Reads a little of the store, and measures the machine the first time.
plan::Question ask_plan(const graph::Store& store, const recipe::Recipe& recipe,
                        const RunningOptions& options, uint64_t limit_bytes);

// The plan; throws Error{memory} with the least limit where it does not fit.
plan::Plan plan_or_fail(const plan::Question& question);

// The plan as part of the opening; nothing when quiet.
void say_plan(const RunningOptions& options, const plan::Plan& plan);

}  // namespace plimsoll::cli
