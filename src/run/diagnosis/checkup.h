// What this machine lets us guarantee, point by point, with the remedy where it is less than it
// could be. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/machine_facts.h"

namespace plimsoll::diagnosis {

enum class Health {
  good,
  limited,  // it works, with less of a promise
  bad,      // it does not work, or runs will fail of it
};
std::string_view name(Health health);

struct Check {
  std::string subject;  // "memory limit"
  Health health = Health::good;
  std::string state;
  std::string remedy;  // empty where there is nothing to better
};

std::vector<Check> check_up(const MachineFacts& facts);

// A line each and one for the remedy; colours are terminal escapes.
std::string describe(const std::vector<Check>& checks, bool colours);
nlohmann::ordered_json to_json(const std::vector<Check>& checks);

}  // namespace plimsoll::diagnosis
