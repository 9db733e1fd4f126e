// /metrics: the runs in Prometheus' text format. Pure.
#pragma once

#include <string>
#include <vector>

#include "serve/run_board.h"

namespace plimsoll::serve {

std::string metrics_text(const std::vector<MeasuredRun>& runs);

}  // namespace plimsoll::serve
