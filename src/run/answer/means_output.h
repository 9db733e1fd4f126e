// The configurations as files for scripts: CSV and JSON with mean, standard deviation and n.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "answer/configuration.h"

namespace plimsoll::answer {

std::string means_csv(const Configurations& configurations);
nlohmann::ordered_json means_json(const Configurations& configurations);

// {"mean": 0.41, "sd": 0.01, "n": 5}; an unknown standard deviation is null.
nlohmann::ordered_json moments_json(const FigureValues& values);

}  // namespace plimsoll::answer
