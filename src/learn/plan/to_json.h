// Plans for scripts. docs/memory.md lists the keys.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "plan/fastest.h"
#include "plan/plan.h"
#include "plan/remedy.h"

namespace plimsoll::plan {

nlohmann::ordered_json to_json(const Plan& plan);
nlohmann::ordered_json to_json(const std::vector<Remedy>& remedies);
nlohmann::ordered_json to_json(const Fastest& fastest);

}  // namespace plimsoll::plan
