#include "plan/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "recipe/recipe.h"

namespace plimsoll::plan {
namespace {

// "9.1 M": predictions are not more exact than this.
std::string about(double count) {
  if (count < 1e3) return fmt::format("{:.0f}", count);
  if (count < 1e6) return fmt::format("{:.1f} K", count / 1e3);
  return count < 1e9 ? fmt::format("{:.1f} M", count / 1e6) : fmt::format("{:.1f} G", count / 1e9);
}

std::string about_seconds(double seconds) {
  return seconds < 0.05 ? "less than 0.1 s" : "about " + format_seconds(seconds);
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string epoch(const Plan& plan) {
  return plan.seconds_an_epoch > 0 ? format_seconds(plan.seconds_an_epoch) : "?";
}

std::string line(const std::string& topic, const std::string& text) {
  return fmt::format("  {:<11} {}\n", topic, text);
}

std::string reads_in_words(const Plan& plan) {
  if (!plan.reads_disk()) return "reads nothing from disk";
  const auto batches = static_cast<double>(plan.batches);
  if (plan.arrangement.window > 1 || plan.on_gpu.draws) {
    return fmt::format("reads {} from disk in {} requests",
                       format_bytes(static_cast<uint64_t>(plan.disk.bytes * batches)),
                       about(plan.disk.requests * batches));
  }
  if (plan.lists_an_epoch() < 1) {
    return fmt::format("reads {} rows from disk", about(plan.rows_an_epoch()));
  }
  return fmt::format("reads {} rows and {} lists from disk", about(plan.rows_an_epoch()),
                     about(plan.lists_an_epoch()));
}

std::string part_line(const std::string& name, const std::string& note, uint64_t bytes) {
  return fmt::format("  {:<11} {:<52} {:>10}\n", name, note, format_bytes(bytes));
}

// What the GPU's memory holds.
std::string describe_gpu(const GpuLayout& gpu) {
  if (!gpu.draws) {
    return line("gpu", fmt::format("computes; the CPU makes the batches: {}", gpu.instead));
  }
  std::string text = line("gpu", "makes the batches itself; its memory:");
  for (const MemoryPart& part : gpu_parts(gpu)) {
    if (part.name == "windows" && part.bytes == 0) continue;
    text += part_line("  " + part.name, part.note, part.bytes);
  }
  return text + line("  peak",
                     fmt::format("{} + {} unused = the limit, {}", format_bytes(gpu.peak_bytes()),
                                 format_bytes(gpu.limit_bytes - gpu.peak_bytes()),
                                 format_bytes(gpu.limit_bytes)));
}

}  // namespace

std::string describe(const Plan& plan) {
  std::string text;
  for (const MemoryPart& part : plan.parts) {
    text += part_line(part.name, part.note, part.bytes);
  }
  const std::string peak = format_bytes(plan.peak_bytes);
  const uint64_t kept_free = headroom_bytes(plan.minimum_bytes);
  text += line("peak", plan.fits ? fmt::format("{} + {} unused = the limit, {}   fits", peak,
                                               format_bytes(plan.limit_bytes - plan.peak_bytes),
                                               format_bytes(plan.limit_bytes))
                                 : fmt::format("{} at least   does not fit", peak));
  text +=
      line("minimum", fmt::format("{} + {} headroom = {}, the least limit it runs in",
                                  format_bytes(plan.minimum_bytes - kept_free),
                                  format_bytes(kept_free), format_bytes_up(plan.minimum_bytes)));
  if (!plan.fits) return text;
  if (plan.gpu) text += describe_gpu(plan.on_gpu);
  text += line("epoch", fmt::format("{}, {} ({})",
                                    plan.seconds_an_epoch > 0
                                        ? about_seconds(plan.seconds_an_epoch)
                                        : std::string("time unknown: not measured here"),
                                    counted(plan.batches, "batch"), reads_in_words(plan)));
  if (plan.other_load > 0 && plan.seconds_an_epoch > 0) {
    text += line("", fmt::format("measured on a busy machine (others used {:.1f} cores): a quiet "
                                 "one is faster;",
                                 plan.other_load));
    text += line("", "measured again when it is quiet");
  }
  return text;
}

std::string describe_shortage(const Plan& plan, const Question& question) {
  return fmt::format(
      "the limit is {}, and this training needs {} at least: {} of runtime, {} of headroom, the "
      "rest for the model and batches of {} seeds that reach {} nodes",
      format_bytes(plan.limit_bytes), format_bytes_up(plan.minimum_bytes),
      format_bytes(question.runtime_bytes), format_bytes(headroom_bytes(plan.minimum_bytes)),
      format_count(question.probe.largest.seeds), format_count(question.probe.largest.nodes));
}

std::string describe(const std::vector<Remedy>& remedies) {
  size_t width = 0;
  for (const Remedy& remedy : remedies) width = std::max(width, remedy.options.size());
  std::string text;
  for (const Remedy& remedy : remedies) {
    text += fmt::format("  {:<{}}  needs {}, {}\n", remedy.options, width,
                        format_bytes_up(remedy.minimum_bytes),
                        remedy.enough ? "fits" : "still too much");
  }
  return text;
}

std::string describe_table(const std::vector<PlanRow>& rows) {
  size_t width = std::string("fan-out").size();
  for (const PlanRow& row : rows) {
    width = std::max(width, recipe::format_fanout(row.recipe.fanout).size());
  }
  std::string text = fmt::format(
      "  {:>9}  {:<{}}  {:<4}  {:>10}  {:>10}  {:>9}  {:>8}  {:>11}  {:>7}\n", "memory", "fan-out",
      width, "fits", "peak", "minimum", "adjacency", "features", "epoch", "reads");
  for (const auto& [recipe, plan] : rows) {
    text += fmt::format("  {:>9}  {:<{}}  {:<4}  {:>10}  {:>10}", format_bytes(plan.limit_bytes),
                        recipe::format_fanout(recipe.fanout), width, plan.fits ? "yes" : "no",
                        plan.fits ? format_bytes(plan.peak_bytes) : "-",
                        format_bytes_up(plan.minimum_bytes));
    text += plan.fits
                ? fmt::format("  {:>9}  {:>8}  {:>11}  {:>7}\n", percent(plan.adjacency_resident),
                              percent(plan.features_resident), epoch(plan),
                              about(plan.rows_an_epoch() + plan.lists_an_epoch()))
                : fmt::format("  {:>9}  {:>8}  {:>11}  {:>7}\n", "-", "-", "-", "-");
  }
  return text;
}

std::string describe_settings(const Fastest& fastest) {
  std::string text = fmt::format("  {:>10}  {:>7}  {:>11}  {:>7}  {:>10}\n", "batch size",
                                 "workers", "epoch", "reads", "peak");
  for (const Setting& setting : fastest.others) {
    const Plan& plan = setting.plan;
    text += fmt::format("  {:>10}  {:>7}  {:>11}  {:>7}  {:>10}{}\n", setting.batch_size,
                        plan.arrangement.workers, epoch(plan),
                        about(plan.rows_an_epoch() + plan.lists_an_epoch()),
                        format_bytes(plan.peak_bytes),
                        setting.batch_size == fastest.best.batch_size ? "  fastest" : "");
  }
  return text;
}

using nlohmann::ordered_json;

ordered_json to_json(const GpuLayout& gpu) {
  if (!gpu.draws) return {{"draws", false}, {"instead", gpu.instead}};
  ordered_json parts = ordered_json::object();
  for (const MemoryPart& part : gpu_parts(gpu)) parts[part.name] = part.bytes;
  return {{"draws", true},
          {"limit_bytes", gpu.limit_bytes},
          {"peak_bytes", gpu.peak_bytes()},
          {"part_seeds", gpu.part_seeds},
          {"parts_bytes", parts},
          {"lines_bytes",
           {{"offsets", gpu.lines.offsets_bytes},
            {"neighbors", gpu.lines.neighbors_bytes},
            {"features", gpu.lines.features_bytes}}},
          {"window_bytes", gpu.window_bytes},
          {"window_batches", gpu.window_batches},
          {"cold_rows", gpu.cold_rows},
          {"hits", {{"adjacency", gpu.adjacency_near}, {"rows", gpu.features_near}}}};
}

ordered_json to_json(const Plan& plan) {
  ordered_json parts = ordered_json::object();
  for (const MemoryPart& part : plan.parts) parts[part.name] = part.bytes;
  const Arrangement& arrangement = plan.arrangement;
  return {
      {"fits", plan.fits},
      {"limit_bytes", plan.limit_bytes},
      {"minimum_bytes", plan.minimum_bytes},
      {"peak_bytes", plan.peak_bytes},
      {"parts_bytes", parts},
      {"lines_bytes",
       {{"offsets", arrangement.lines.offsets_bytes},
        {"neighbors", arrangement.lines.neighbors_bytes},
        {"features", arrangement.lines.features_bytes}}},
      {"resident", {{"adjacency", plan.adjacency_resident}, {"features", plan.features_resident}}},
      {"hits",
       {{"offsets", plan.reads.offsets_hits},
        {"lists", plan.reads.lists_hits},
        {"rows", plan.reads.rows_hits}}},
      {"gpu", plan.gpu},
      {"on_gpu", plan.gpu ? to_json(plan.on_gpu) : ordered_json(nullptr)},
      {"workers", arrangement.workers},
      {"computing", arrangement.computing},
      {"window", arrangement.window},
      {"window_bytes", arrangement.window_bytes},
      {"ahead", arrangement.ahead},
      {"held", arrangement.held},
      {"batches", plan.batches},
      {"rows_read", plan.rows_an_epoch()},
      {"lists_read", plan.lists_an_epoch()},
      {"requests", plan.disk.requests * static_cast<double>(plan.batches)},
      {"bytes_read", plan.disk.bytes * static_cast<double>(plan.batches)},
      {"epoch_seconds",
       plan.seconds_an_epoch > 0 ? ordered_json(plan.seconds_an_epoch) : ordered_json(nullptr)},
      {"measured_beside_cores",
       plan.other_load > 0 ? ordered_json(plan.other_load) : ordered_json(nullptr)},
      {"pyg_bytes", plan.pyg_bytes}};
}

ordered_json asked_json(const recipe::Recipe& recipe) {
  return {{"model", name(recipe.model)},
          {"fanout", recipe::to_json(recipe.fanout)},
          {"batch_size", recipe.batch_size},
          {"hidden", recipe.hidden}};
}

ordered_json to_json(const PlanRow& row) {
  ordered_json json = asked_json(row.recipe);
  json.update(to_json(row.plan));
  return json;
}

ordered_json to_json(const std::vector<PlanRow>& rows) {
  ordered_json list = ordered_json::array();
  for (const PlanRow& row : rows) list.push_back(to_json(row));
  return {{"plans", list}};
}

ordered_json to_json(const std::vector<Remedy>& remedies) {
  ordered_json list = ordered_json::array();
  for (const Remedy& remedy : remedies) {
    list.push_back({{"options", remedy.options},
                    {"minimum_bytes", remedy.minimum_bytes},
                    {"enough", remedy.enough}});
  }
  return list;
}

ordered_json to_json(const Fastest& fastest) {
  const auto setting = [](const Setting& one) {
    return ordered_json{
        {"batch_size", one.batch_size},
        {"workers", one.workers == 0 ? ordered_json(nullptr) : ordered_json(one.workers)},
        {"plan", to_json(one.plan)}};
  };
  ordered_json others = ordered_json::array();
  for (const Setting& one : fastest.others) others.push_back(setting(one));
  return {{"fastest", setting(fastest.best)}, {"tried", others}};
}

}  // namespace plimsoll::plan
