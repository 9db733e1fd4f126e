// plimsoll inspect: shows what a store contains, as text or JSON, and checks its files.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/print.h"
#include "base/progress.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "formats/data_root.h"
#include "graph/store.h"
#include "graph/summary.h"
#include "memory/ledger.h"
#include "memory/limit.h"
#include "memory/usage.h"
#include "screen/screen.h"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct InspectOptions {
  std::filesystem::path store;
  bool verify = false;
  bool json = false;
  bool plot = false;
  bool quiet = false;
  std::optional<uint64_t> memory_bytes;
};

graph::StoreSummary read_summary(const graph::Store& store, memory::Ledger& ledger,
                                 Progress& progress) {
  progress.start_step("reading the graph", "bytes", graph::summary_bytes(store));
  auto summary = graph::summarise(store, ledger, [&](uint64_t count) { progress.add(count); });
  progress.finish_step();
  return summary;
}

void inspect(const InspectOptions& options) {
  const auto start = Clock::now();
  const graph::Store store = formats::open_store(options.store);
  memory::Ledger ledger(memory::choose_limit(options.memory_bytes, memory::detect_limit()).bytes);
  Progress progress(Progress::detect(options.quiet));
  const std::string verdict = options.verify ? formats::verify_store(store, ledger, progress) : "";
  const graph::StoreSummary summary = read_summary(store, ledger, progress);

  if (options.json) {
    const ordered_json json = graph::to_json(store, summary, options.verify);
    print_json(json);
    return;
  }
  screen::print_store(store, summary);
  if (options.plot) screen::print_plots(screen::store_charts(summary));
  fmt::print("\n{}{}inspected in {}, peak memory {}\n", verdict, verdict.empty() ? "" : "\n",
             format_seconds(seconds_since(start)),
             format_bytes(memory::process_usage().peak_resident_bytes));
}

constexpr const char* kInspectFooter =
    R"(Percentiles of degrees are exact below 4,096; above, they are at most 1/64 too low.

Examples:
  plimsoll inspect papers.plim
  plimsoll inspect papers.plim --verify
  plimsoll inspect papers.plim --plot
  plimsoll inspect papers.plim --json | jq .degrees.median)";

}  // namespace

void add_inspect(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("inspect", "Show what a store contains, and check its files");
  auto options = std::make_shared<InspectOptions>();
  command->add_option("STORE", options->store, "folder of the store")->required();
  command->add_flag("--verify", options->verify,
                    "read every file of the store and compare its checksum");
  add_json(*command, options->json);
  add_plot(*command, options->plot);
  add_quiet(*command, options->quiet);
  add_memory(*command, options->memory_bytes);
  command->footer(kInspectFooter);
  command->callback([options] { inspect(*options); });
}

}  // namespace plimsoll::cli
