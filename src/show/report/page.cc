#include "report/page.h"

#include <fmt/format.h>

#include "base/units.h"
#include "report/bodies.h"

namespace plimsoll::report {

std::string list_body(const std::vector<FoundRun>& runs, const LinkTo& link) {
  std::string html = heading(Depth::page, 0, "Runs");
  if (runs.empty()) {
    return html + note(
                      "There are no runs here: no --save-dir of a training, no batch, no log of a "
                      "Slurm job.");
  }
  html += paragraph(counted(runs.size(), "run") + ", the newest first.");
  html +=
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"runs\"><table "
      "class=\"runs\">\n"
      "<caption>runs</caption>\n<thead><tr>"
      "<th scope=\"col\" class=\"text\">run</th><th scope=\"col\" class=\"text\">kind</th>"
      "<th scope=\"col\" class=\"text\">state</th><th scope=\"col\" class=\"text\">what</th>"
      "<th scope=\"col\" class=\"text\">best</th><th scope=\"col\">started</th>"
      "<th scope=\"col\">changed</th></tr></thead>\n<tbody>\n";
  for (const FoundRun& run : runs) {
    const std::string address = link ? link(run) : std::string();
    const std::string shown = run.name == "." ? run.path.filename().string() : run.name;
    const std::string title =
        address.empty() ? escaped(shown)
                        : fmt::format("<a href=\"{}\">{}</a>", escaped(address), escaped(shown));
    html += fmt::format(
        "<tr><th scope=\"row\" class=\"text\">{}</th><td class=\"text\">{}</td>"
        "<td class=\"text\">{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{}</td>"
        "<td>{}</td></tr>\n",
        title, escaped(name(run.kind)),
        run.state == FoundState::unknown ? "" : badge(name(run.state)), escaped(run.what),
        escaped(run.best), run.started ? time_text(*run.started) : "",
        run.changed > 0 ? time_text(run.changed) : "");
  }
  return html + "</tbody></table></div>\n";
}

std::string run_body(const RunData& run) {
  if (const auto* training = std::get_if<TrainingData>(&run)) {
    return training_body(*training, Depth::page);
  }
  if (const auto* batch = std::get_if<BatchData>(&run)) return batch_body(*batch, Depth::page);
  return job_log_body(std::get<JobLogData>(run), Depth::page);
}

std::string document(const Page& page) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n"
      "<style>{}</style>\n{}</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the "
      "content</a>\n"
      "{}<main id=\"main\">\n{}</main>\n</body>\n</html>\n",
      escaped(page.title), style_sheet(), page.head,
      page.header.empty() ? "" : "<header>" + page.header + "</header>\n", page.body);
}

}  // namespace plimsoll::report
