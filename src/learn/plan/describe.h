// A plan for people, as text, and for programs, as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/fastest.h"
#include "plan/plan.h"

namespace plimsoll::plan {

// Plans in words, for people.

// Several lines, each indented by two.
std::string describe(const Plan& plan);

// "the limit is 300.0 MiB, and this training needs 412.0 MiB at least: ..."
std::string describe_shortage(const Plan& plan, const Question& question);
// A line for each, indented by two; nothing where there are none.
std::string describe(const std::vector<Remedy>& remedies);

// A line for each plan, under a heading.
struct Row {
  std::vector<uint32_t> fanout;
  Plan plan;
};
std::string describe_table(const std::vector<Row>& rows);

// The batch sizes that were tried, a line each.
std::string describe_settings(const Fastest& fastest);

// Plans for scripts. docs/memory.md lists the keys.

nlohmann::ordered_json to_json(const Plan& plan);
nlohmann::ordered_json to_json(const std::vector<Remedy>& remedies);
nlohmann::ordered_json to_json(const Fastest& fastest);

}  // namespace plimsoll::plan
