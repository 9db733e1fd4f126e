#include "plan/describe.h"

#include <fmt/format.h>

#include "base/units.h"

namespace plimsoll::plan {
namespace {

std::string seconds(double value) {
  if (value < 90) return fmt::format("{:.{}f} s", value, value < 10 ? 1 : 0);
  return fmt::format("{:.0f} min", value / 60);
}

}  // namespace

std::string describe(const Plan& plan) {
  std::string text;
  for (const Part& part : plan.parts) {
    text += fmt::format("  {:<11} {:<52} {:>10}\n", part.name, part.note, format_bytes(part.bytes));
  }
  text +=
      fmt::format("  {:<11} {} of {}, headroom {}, {}\n", "peak", format_bytes(plan.peak_bytes),
                  format_bytes(plan.limit_bytes), format_bytes(plan.limit_bytes - plan.peak_bytes),
                  plan.fits ? "fits" : "does not fit");
  if (plan.seconds_an_epoch > 0) {
    text += fmt::format("  {:<11} about {}, {} batches", "epoch", seconds(plan.seconds_an_epoch),
                        format_count(plan.batches));
    if (plan.reads_disk()) {
      text += fmt::format(" (reads {} times from disk)",
                          format_count(static_cast<uint64_t>(plan.reads_a_batch *
                                                             static_cast<double>(plan.batches))));
    }
    text += "\n";
  }
  return text;
}

std::string describe_shortage(const Plan& plan, const Question& question) {
  return fmt::format(
      "the limit is {}, and this training needs {} at least: {} of runtime, the rest for batches "
      "of "
      "{} seeds that reach {} nodes, and the model; raise --memory, or lower --batch-size, "
      "--fanout "
      "or --hidden",
      format_bytes(plan.limit_bytes), format_bytes(plan.minimum_bytes),
      format_bytes(question.runtime_bytes), question.probe.batch.seeds,
      format_count(question.probe.batch.nodes));
}

nlohmann::ordered_json to_json(const Plan& plan) {
  nlohmann::ordered_json parts = nlohmann::ordered_json::object();
  for (const Part& part : plan.parts) parts[part.name] = part.bytes;
  const Arrangement& arrangement = plan.arrangement;
  return {{"fits", plan.fits},
          {"limit_bytes", plan.limit_bytes},
          {"minimum_bytes", plan.minimum_bytes},
          {"peak_bytes", plan.peak_bytes},
          {"parts", parts},
          {"lines",
           {{"offsets_bytes", arrangement.lines.offsets_bytes},
            {"neighbors_bytes", arrangement.lines.neighbors_bytes},
            {"features_bytes", arrangement.lines.features_bytes}}},
          {"hits",
           {{"offsets", plan.offsets_hits}, {"lists", plan.lists_hits}, {"rows", plan.rows_hits}}},
          {"workers", arrangement.workers},
          {"window", arrangement.window},
          {"ahead", arrangement.ahead},
          {"batches", plan.batches},
          {"reads_a_batch", plan.reads_a_batch},
          {"seconds_an_epoch", plan.seconds_an_epoch},
          {"pyg_bytes", plan.pyg_bytes}};
}

}  // namespace plimsoll::plan
