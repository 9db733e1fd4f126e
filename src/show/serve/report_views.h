// The runs as the report shows them.
#pragma once

#include "serve/run_board.h"

namespace plimsoll::serve {

RunViews report_views();

}  // namespace plimsoll::serve
