// Writes plans as text for people and as JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/fastest.h"
#include "plan/plan.h"
#include "plan/remedies.h"
#include "recipe/recipe.h"

namespace plimsoll::plan {

// Several lines, each indented by two spaces.
std::string describe(const Plan& plan);

// "the limit is 300.0 MiB, and this training needs 412.0 MiB at least: ..."
std::string describe_shortage(const Plan& plan, const Question& question);
// One line per remedy, indented by two spaces; empty if there are none.
std::string describe(const std::vector<Remedy>& remedies);

// A plan, and the recipe that it is for.
struct PlanRow {
  recipe::Recipe recipe;
  Plan plan;
};
// A table with one line per plan, under a heading.
std::string describe_table(const std::vector<PlanRow>& rows);

// A table of the batch sizes that were tried.
std::string describe_settings(const Fastest& fastest);

// docs/reference/memory.md lists the keys.
nlohmann::ordered_json to_json(const GpuLayout& gpu);
nlohmann::ordered_json to_json(const Plan& plan);
nlohmann::ordered_json to_json(const PlanRow& row);
nlohmann::ordered_json to_json(const std::vector<PlanRow>& rows);  // "plans"
nlohmann::ordered_json to_json(const std::vector<Remedy>& remedies);
// The members that say what a plan was asked for: model, fan-out, batch size, hidden.
nlohmann::ordered_json asked_json(const recipe::Recipe& recipe);
nlohmann::ordered_json to_json(const Fastest& fastest);

}  // namespace plimsoll::plan
