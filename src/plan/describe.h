// A plan in words, as a table of several plans, and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "plan/plan.h"

namespace plimsoll::plan {

// Several lines, each indented by two.
std::string describe(const Plan& plan);

// "needs at least 412 MiB": what is missing, and what would lower it.
std::string describe_shortage(const Plan& plan, const Question& question);

nlohmann::ordered_json to_json(const Plan& plan);

}  // namespace plimsoll::plan
