// The texts that the server sends around the bodies of runs. Pure.
//
// A document has a head, a line that says where the reader is and whether the page is live, and the
// script that keeps the body new.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/run_board.h"

namespace plimsoll::serve {

// A page, readable without its script. `list` is the page of all runs; others link to it.
std::string live_document(const Body& body, bool list);

// After a token was accepted: a page that goes on to `path`. It is not a redirection, because a
// browser that followed a link of another site would not send the new cookie along.
std::string welcome_document(std::string_view path);

// A page for an error: "404 Not Found" and what to do.
std::string error_document(int status, std::string_view what);

std::string_view live_script();
std::string live_style();
std::string_view live_icon();

// /metrics: the runs in Prometheus' text format.
std::string metrics_text(const std::vector<MeasuredRun>& runs);

}  // namespace plimsoll::serve
