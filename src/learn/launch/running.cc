#include "launch/running.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/print.h"
#include "base/progress.h"
#include "base/units.h"
#include "formats/data_root.h"
#include "memory/limit.h"
#include "plan/describe.h"

namespace plimsoll::launch {

void divide_threads(RunningOptions& options, unsigned host_ranks) {
  if (options.threads_given) return;
  options.run.threads = std::max(1U, options.run.threads / host_ranks);
}

void say(const RunningOptions& options, const std::string& topic, const std::string& text) {
  if (options.run.quiet) return;
  print("  {:<9} {}\n", topic, text);
  std::fflush(stdout);  // before the bars that follow on stderr
}

void say_plan(const RunningOptions& options, const plan::Plan& plan) {
  if (options.run.quiet) return;
  print("{}", plan::describe(plan));
  std::fflush(stdout);
}

void verify_if_asked(const graph::Store& store, const RunningOptions& options) {
  if (!options.verify) return;
  memory::Ledger ledger(memory::choose_limit(options.memory_bytes, memory::detect_limit()).bytes);
  Progress progress(Progress::detect(options.run.quiet));
  say(options, "verified", formats::verify_store(store, ledger, progress));
}

std::string describe(const graph::Store& store) {
  const graph::Meta& meta = store.meta();
  return fmt::format("{}: {}, {}, {}, {}", store.folder().string(), counted(meta.nodes, "node"),
                     counted(meta.edges, "edge"), counted(meta.input_columns(), "feature"),
                     counted(meta.classes, "class"));
}

}  // namespace plimsoll::launch
