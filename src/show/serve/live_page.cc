#include "serve/live_page.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>

#include "plot/svg.h"
#include "report/page.h"
#include "track/prometheus_text.h"

namespace plimsoll::serve {
namespace {

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page.css">
)";

constexpr std::string_view kLiveStyle = R"(
html { scroll-padding-top: 3.5rem; }
.live-bar { position: sticky; top: 0; z-index: 1; background: var(--bg); display: flex;
  flex-wrap: wrap; gap: .2rem 1rem; align-items: baseline; justify-content: space-between;
  padding: .6rem 1rem; font-size: .9rem; }
.live-bar nav, .live-bar p { margin: 0; }
.live-state { padding: .1rem .5rem; border: 1px solid currentColor; border-radius: .3rem; }
.live-state[data-state="lost"] { font-weight: bold; border-width: 2px; border-style: dashed; }
@media print { .live-bar { display: none; } }
)";

struct Metric {
  const char* name;
  const char* help;
  std::optional<double> TrainingMetrics::*figure;
};
constexpr Metric kMetrics[] = {
    {"plimsoll_run_epoch", "Completed epochs.", &TrainingMetrics::epoch},
    {"plimsoll_run_loss", "Training loss; of the current epoch if the run goes on.",
     &TrainingMetrics::loss},
    {"plimsoll_run_best_valid_accuracy", "Best validation accuracy so far.",
     &TrainingMetrics::best_valid},
    {"plimsoll_run_peak_memory_bytes", "Peak of resident memory.",
     &TrainingMetrics::peak_memory_bytes}};

}  // namespace

std::string live_document(const Body& body, bool list) {
  const std::string title = plot::escaped(list ? "Plimsoll: runs" : body.title + " - Plimsoll");
  std::string page(kHead);
  page += fmt::format(
      "<title>{}</title>\n<script src=\"/page.js\" defer></script>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n"
      "<header class=\"live-bar\"><nav aria-label=\"Pages\">{}</nav>\n"
      "<p id=\"live\" class=\"live-state\" role=\"status\" aria-live=\"polite\">"
      "Reload the page to see changes</p></header>\n"
      "<main id=\"main\" tabindex=\"-1\" data-version=\"{}\">",
      title, list ? "Plimsoll" : "<a href=\"/\">All runs</a>", body.version);
  page += *body.text;
  page += "</main>\n</body>\n</html>\n";
  return page;
}

std::string welcome_document(std::string_view path) {
  const std::string address = plot::escaped(path);
  return fmt::format(
      "{}<meta http-equiv=\"refresh\" content=\"0;url={}\">\n<title>Plimsoll</title>\n</head>\n"
      "<body>\n<main><h1>Signed in</h1><p><a href=\"{}\">Go on to the page</a></p></main>\n"
      "</body>\n</html>\n",
      kHead, address, address);
}

std::string error_document(int status, std::string_view what) {
  return fmt::format(
      "{}<title>{} - Plimsoll</title>\n</head>\n<body>\n<main><h1>{}</h1><p>{}</p>"
      "<p><a href=\"/\">All runs</a></p></main>\n</body>\n</html>\n",
      kHead, status, status, plot::escaped(what));
}

std::string live_style() { return std::string(report::style_sheet()).append(kLiveStyle); }

std::string_view live_icon() {
  return R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><g fill="none" stroke="#0072b2" stroke-width="3"><circle cx="16" cy="16" r="10"/><path d="M1 16h30"/></g></svg>
)";
}

std::string metrics_text(const std::vector<MeasuredRun>& runs) {
  std::map<std::pair<report::RunKind, report::FoundState>, size_t> counts;
  for (const MeasuredRun& run : runs) ++counts[{run.kind, run.state}];
  track::PrometheusText text;
  for (const auto& [group, count] : counts) {
    const track::PrometheusLabel labels[] = {{"kind", std::string(name(group.first))},
                                             {"state", std::string(name(group.second))}};
    text.gauge("plimsoll_runs", "Runs under the folder.", labels, static_cast<double>(count));
  }
  for (const Metric& metric : kMetrics) {
    for (const MeasuredRun& run : runs) {
      const auto value = run.figures ? (*run.figures).*metric.figure : std::nullopt;
      const track::PrometheusLabel labels[] = {{"run", run.name}};
      if (value) text.gauge(metric.name, metric.help, labels, *value);
    }
  }
  return text.text();
}

}  // namespace plimsoll::serve
