// A report as JSON, for journals and result files: null where there is no number.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "energy/report.h"

namespace plimsoll::energy {

nlohmann::ordered_json to_json(const EnergyReport& report);
EnergyReport report_from(const nlohmann::ordered_json& json);

nlohmann::ordered_json json_of(const std::optional<double>& number);
std::optional<double> number_in(const nlohmann::ordered_json& json, const std::string& key);

}  // namespace plimsoll::energy
