// plimsoll report: one HTML file about trainings and batches. The pages are made in the room
// `report`.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/print.h"
#include "base/units.h"
#include "cli/command.h"
#include "io/partial_file.h"
#include "report/figures.h"
#include "report/page.h"
#include "report/run_data.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  std::vector<fs::path> runs;
  std::string figure;
  std::string title;
  fs::path out;
};

void write_figure(const ReportOptions& options) {
  if (options.runs.size() > 1) fail(ErrorKind::usage, "--figure takes one RUN");
  const std::string svg = report::figure_file(options.runs.front(), options.figure, options.title);
  io::write_whole(options.out, svg);
  print("{}: {}\n", options.out.string(), format_bytes(svg.size()));
}

void write_report(ReportOptions& options) {
  std::error_code ignored;
  if (fs::is_directory(options.out, ignored)) {
    fail(ErrorKind::usage, "--out {} is a folder; name a file, as {}", options.out.string(),
         (options.out / "report.html").string());
  }
  if (options.out.empty()) {
    options.out = options.figure.empty() ? "report.html" : options.figure + ".svg";
  }
  if (!options.figure.empty()) {
    write_figure(options);
    return;
  }
  std::vector<report::RunData> runs;
  for (const fs::path& path : options.runs) runs.push_back(report::load_run(path));
  const std::string about =
      runs.size() == 1 ? report::found_in(runs.front()).name : counted(runs.size(), "run");
  const std::string title = options.title.empty() ? about + " – Plimsoll report" : options.title;
  const std::string html =
      report::document({.title = title, .body = report::comparison_body(runs)});
  io::write_whole(options.out, html);
  print("{}: {}, {}\n", options.out.string(), counted(runs.size(), "run"),
        format_bytes(html.size()));
}

}  // namespace

void add_report(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("report", "Write a page about trainings and batches, with figures");
  auto options = std::make_shared<ReportOptions>();
  command
      ->add_option("RUN", options->runs,
                   "the --save-dir of a training, the folder of a batch, or the log of a Slurm job")
      ->required();
  command->add_option("-o,--out", options->out, "the file to write; default: report.html")
      ->type_name("FILE");
  command
      ->add_option("--figure", options->figure,
                   "write one figure as an SVG file instead; memory also takes a table of train "
                   "--memory-log")
      ->check(CLI::IsMember(report::figure_names()));
  command->add_option("--title", options->title, "the title of the page or figure")
      ->type_name("TEXT");
  command->footer(
      R"(The page is one file below 1 MB. It needs no network and no scripts, prints well, and follows the
reader's choice of light or dark. Two or more runs are compared. docs/guides/report.md explains the
figures.

Examples:
  plimsoll report models/
  plimsoll report results/run_20261115_081500 --out batch.html
  plimsoll report models/gcn models/sage --out compared.html
  plimsoll report models/gcn --figure memory --out memory.svg)");
  command->callback([options] { write_report(*options); });
}

}  // namespace plimsoll::cli
