// What plimsoll can guarantee on this machine, point by point, with a remedy for each weakness.
// Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/machine_facts.h"

namespace plimsoll::diagnosis {

enum class Health {
  good,
  limited,  // it works, with a weaker guarantee
  bad,      // it does not work, or it will make runs fail
};
std::string_view name(Health health);

struct Check {
  std::string subject;  // "memory limit"
  Health health = Health::good;
  std::string state;
  std::string remedy;  // empty if there is nothing to improve
};

std::vector<Check> check_up(const MachineFacts& facts);

// One line per check, and one more for its remedy; `colours` adds terminal escape sequences.
std::string describe(const std::vector<Check>& checks, bool colours);
nlohmann::ordered_json to_json(const std::vector<Check>& checks);

}  // namespace plimsoll::diagnosis
