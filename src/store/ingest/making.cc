#include "ingest/making.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/print.h"
#include "base/units.h"
#include "memory/usage.h"

namespace plimsoll::ingest {
namespace {

namespace fs = std::filesystem;

uint64_t folder_bytes(const fs::path& folder) {
  uint64_t sum = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) sum += entry.file_size();
  }
  return sum;
}

// --force replaces only stores. Everything else with that name stays, above all an input.
void check_options(const MakingOptions& options) {
  const fs::path& out = options.out;
  if (!options.force || !fs::exists(out)) return;
  if (fs::is_directory(out) && (fs::is_empty(out) || fs::exists(out / "meta.json"))) return;
  fail(ErrorKind::exists,
       "{} exists and is not a store; --force replaces only stores: remove it "
       "yourself or choose another --out",
       out.string());
}

}  // namespace

Making::Making(const MakingOptions& options)
    : options_(options),
      start_(std::chrono::steady_clock::now()),
      limit_(memory::choose_limit(options.memory_bytes, memory::detect_limit())),
      ledger_(limit_.bytes),
      progress_(Progress::detect(options.quiet)) {
  check_options(options);
}

void Making::headline(const std::string& text) const {
  if (options_.quiet || options_.json) return;
  print("{}\n", text);
  std::fflush(stdout);  // before the progress that follows on stderr
}

void Making::say(const std::string& topic, const std::string& text) const {
  headline(fmt::format("  {:<9} {}", topic, text));
}

void Making::warn(const std::string& note) const {
  say("note", note);
  if (options_.quiet && !options_.json) print_to(stderr, "note: {}\n", note);
}

void Making::build_store(InputGraph& source, BuildOptions how,
                         const nlohmann::ordered_json& details) {
  how.out = options_.out;
  how.replace = options_.force;
  how.order = options_.order;
  how.temp_folder = options_.temp_folder;
  how.threads = options_.threads;
  say("memory", describe(limit_));
  const BuildResult result = build(source, how, ledger_, progress_);
  progress_.finish_step();
  if (result.removed_remains) say("note", "removed the remains of an interrupted run");
  if (result.dropped.self_loops > 0) {
    say("note", fmt::format("{} dropped (models add their own)",
                            counted(result.dropped.self_loops, "self-loop")));
  }
  if (result.dropped.duplicates > 0) {
    say("note", fmt::format("{} dropped (an edge and its reverse count as one)",
                            counted(result.dropped.duplicates, "duplicate edge")));
  }
  // A few values close to 0 do not matter. More than one in a thousand means that the features are
  // small.
  const graph::Meta& meta = result.meta;
  if (result.vanished_values * 1000 > meta.nodes * meta.feature_columns) {
    say("note", fmt::format("{} other than 0 became 0 in f16; --feature-type f32 keeps them",
                            counted(result.vanished_values, "feature value")));
  }
  if (meta.split_sizes == std::array<uint64_t, 3>{}) {
    say("note", "no splits: the expected visits are unknown, and there are no nodes to train on");
  }
  nlohmann::ordered_json all = {{"nodes", meta.nodes},
                                {"edges", meta.edges},
                                {"direction", name(meta.direction)},
                                {"self_loops_dropped", result.dropped.self_loops},
                                {"duplicates_dropped", result.dropped.duplicates},
                                {"values_vanished_in_f16", result.vanished_values}};
  all.update(details);
  summarize(fmt::format("{}, {}", counted(meta.nodes, "node"), counted(meta.edges, "edge")),
            std::move(all));
}

void Making::summarize(const std::string& what, nlohmann::ordered_json details) {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const uint64_t bytes = folder_bytes(options_.out);
  const uint64_t peak_bytes = memory::process_usage().peak_resident_bytes;
  if (options_.json) {
    details["out"] = options_.out.string();
    details["bytes"] = bytes;
    details["seconds"] = seconds;
    details["peak_memory_bytes"] = peak_bytes;
    details["ledger_peak_bytes"] = ledger_.peak_bytes();
    details["memory_limit_bytes"] = limit_.bytes;
    details["memory_limit_from"] = limit_.winner;
    fmt::print("{}\n", json_text(details));
    return;
  }
  headline(fmt::format("wrote {}: {}, {} in {}; peak memory {} of {}", options_.out.string(), what,
                       format_bytes(bytes), format_seconds(seconds), format_bytes(peak_bytes),
                       format_bytes(limit_.bytes)));
}

}  // namespace plimsoll::ingest
