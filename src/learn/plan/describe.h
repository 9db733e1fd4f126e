// Writes plans as text for people and as JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace plimsoll::plan {

// Several lines, each indented by two spaces.
std::string describe(const Plan& plan);

// "the limit is 300.0 MiB, and this training needs 412.0 MiB at least: ..."
std::string describe_shortage(const Plan& plan, const Question& question);
// One line per remedy, indented by two spaces; empty if there are none.
std::string describe(const std::vector<Remedy>& remedies);

// A table with one line per plan, under a heading.
struct PlanRow {
  std::vector<uint32_t> fanout;
  Plan plan;
};
std::string describe_table(const std::vector<PlanRow>& rows);

// A table of the batch sizes that were tried.
std::string describe_settings(const Fastest& fastest);

// docs/reference/memory.md lists the keys.
nlohmann::ordered_json to_json(const GpuLayout& gpu);
nlohmann::ordered_json to_json(const Plan& plan);
nlohmann::ordered_json to_json(const std::vector<Remedy>& remedies);
nlohmann::ordered_json to_json(const Fastest& fastest);

}  // namespace plimsoll::plan
