// Runs as HTML. A body is a fragment: it goes into document(), or into a live page that has
// style_sheet(). No scripts, no style attributes, nothing from outside; all foreign text is
// escaped.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_data.h"
#include "report/run_list.h"

namespace plimsoll::report {

// The address of a run's page; empty: its name is not a link.
using LinkTo = std::function<std::string(const FoundRun& run)>;

// A table of runs, newest first.
std::string list_body(const std::vector<FoundRun>& runs, const LinkTo& link = {});

// Everything about one run: sections with headings from <h2> on, after its <h1>.
std::string run_body(const RunData& run);

// Two or more runs side by side: first what differs and their curves together, then each of them.
std::string comparison_body(const std::vector<RunData>& runs);

// The style of all pages and figures.
std::string_view style_sheet();

struct Page {
  std::string title;
  std::string body;
  std::string head = {};    // more elements for <head>
  std::string header = {};  // a fragment before the body: where the reader is
};

// A complete page that needs no other file.
std::string document(const Page& page);

}  // namespace plimsoll::report
