#include "report/page.h"

#include <fmt/format.h>

#include <string>

#include "base/units.h"
#include "plot/svg.h"
#include "report/bodies.h"

namespace plimsoll::report {
namespace {

constexpr std::string_view kPage = R"(
:root{color-scheme:light dark;--bg:#f6f8fa;--card:#fff;--text:#1f2328;--muted:#57606a;--edge:#d0d7de;--link:#0550ae;
--ok:#1a7f37;--bad:#b42318;--wait:#7a4d00;--note:#fff8e6;--note-edge:#d4a72c}
@media (prefers-color-scheme:dark){:root{--bg:#010409;--card:#0d1117;--text:#e6edf3;--muted:#9da7b1;--edge:#30363d;
--link:#79b8ff;--ok:#56d364;--bad:#ff8a7a;--wait:#e3b341;--note:#1f1a0a;--note-edge:#8a6d1a}}
*{box-sizing:border-box}
html{font-size:clamp(15px,.55vw + 9px,26px)}
body{margin:0;background:var(--bg);color:var(--text);font:1rem/1.5 system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;
overflow-wrap:anywhere}
header,main{max-width:110rem;margin:0 auto;padding:0 1rem}
main{padding-bottom:3rem}
h1{font-size:1.7rem;line-height:1.2;margin:1.5rem 0 .3rem}h2{font-size:1.25rem;margin:2rem 0 .6rem}h3{font-size:1.05rem;margin:1.4rem 0 .5rem}
article{border-top:.2rem solid var(--edge);margin-top:3rem}
a{color:var(--link)}a:focus-visible,[tabindex]:focus-visible,summary:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}.skip:focus{position:static;display:inline-block;padding:.5rem}
.lead{color:var(--muted);margin:.2rem 0 1rem}
.badge{display:inline-block;border:1px solid currentColor;border-radius:1rem;padding:0 .6rem;font-size:.85rem;font-weight:600;
color:var(--muted);white-space:nowrap}
.badge.finished,.badge.early{color:var(--ok)}.badge.running{color:var(--link)}
.badge.interrupted,.badge.failed{color:var(--bad)}.badge.stopped,.badge.paused{color:var(--wait)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.7rem;margin:0 0 1rem}
.tiles div{background:var(--card);border:1px solid var(--edge);border-radius:.5rem;padding:.6rem .8rem}
.tiles dt{color:var(--muted);font-size:.85rem}.tiles dd{margin:0;font-size:1.35rem;font-weight:600;line-height:1.3}
.tiles small{display:block;font-size:.8rem;font-weight:400;color:var(--muted)}
.facts{margin:.6rem 0}.facts div{display:flex;flex-wrap:wrap;gap:0 1rem;padding:.15rem 0}
.facts dt{min-width:11rem;color:var(--muted)}.facts dd{margin:0}.facts.columns{columns:18rem}.facts.columns div{break-inside:avoid}.facts.columns dt{min-width:8rem}.facts small{color:var(--muted)}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,32rem),1fr));gap:.8rem;align-items:start}
.card{background:var(--card);border:1px solid var(--edge);border-radius:.5rem;padding:.7rem;margin:0;min-width:0}
.whole{grid-column:1/-1}
figcaption{font-weight:600;margin:0 0 .3rem}
.plot{display:block;width:100%;height:auto}
.whole .plot{max-height:85vh}
.on-tablet,.on-phone{display:none}
@media (max-width:46rem){.on-wide{display:none}.on-tablet{display:block}}
@media (max-width:30rem){.on-tablet,.on-desk{display:none}.on-phone{display:block}}
.runs caption{position:absolute;left:-99rem}.runs td:nth-child(4){min-width:11rem}
.note{background:var(--note);border-left:.25rem solid var(--note-edge);padding:.5rem .8rem;margin:.6rem 0}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--edge);border-radius:.5rem;margin:.6rem 0}
.card .scroll{border:0;margin:0}
table{border-collapse:collapse;width:100%;overflow-wrap:break-word;font-variant-numeric:tabular-nums;font-size:.92rem}
caption{text-align:left;font-weight:600;padding:.5rem .7rem}
th,td{padding:.3rem .7rem;text-align:right;white-space:nowrap;vertical-align:top;border-top:1px solid var(--edge)}
thead th{color:var(--muted);border-top:0;font-weight:600}tbody th{font-weight:500}
.text{text-align:left;white-space:normal;min-width:5rem;max-width:32rem}
pre{background:var(--card);border:1px solid var(--edge);border-radius:.5rem;padding:.7rem;overflow-x:auto;margin:.5rem 0;white-space:pre-wrap}
code{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:.9rem}
progress{width:min(100%,24rem);height:1rem;vertical-align:middle}
@media print{:root{--bg:#fff;--card:#fff;--text:#000;--muted:#333;--edge:#bbb;--note:#fff;--link:#000;--ok:#000;--bad:#000;--wait:#000;
color-scheme:light}html{font-size:10pt}main{max-width:none;padding:0}.figures{grid-template-columns:1fr 1fr}
.card,.tiles div,tr,pre{break-inside:avoid}.facts.columns{break-before:avoid}
h2,h3,h2+p,h3+p,figcaption,caption,p:has(+.figures){break-after:avoid}.scroll{overflow:visible;border:0}
th,td{white-space:normal;padding:.15rem .35rem}.skip,header nav{display:none}.on-wide,.on-desk{display:block}.on-tablet,.on-phone{display:none}}
)";

}  // namespace

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

std::string_view style_sheet() {
  static const std::string all = std::string(plot::svg_style()) + std::string(kPage);
  return all;
}

}  // namespace plimsoll::report
