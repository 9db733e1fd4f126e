// The memory of a training: by tag over time against the limit, and planned beside leased.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "report/bodies.h"

namespace plimsoll::report {
namespace {

using launch::TrainingDiary;
using launch::TrainingRecord;
using plot::Quantity;

constexpr size_t kAreasAtMost = 6;  // in one chart: more cannot be told apart

// What a tag of a lease belongs to in the plan.
std::string part_of(const std::string& tag, const std::vector<TrainingDiary::Part>& planned) {
  static const std::map<std::string, std::string, std::less<>> parts = {
      {"graph", "adjacency"},       {"features", "features"}, {"windows", "windows"},
      {"runtime", "runtime"},       {"splits", "runtime"},    {"tensors", "model"},
      {"rows for the GPU", "store"}};
  if (const auto found = parts.find(tag); found != parts.end()) return found->second;
  return std::ranges::find(planned, tag, &TrainingDiary::Part::name) == planned.end() ? "batches"
                                                                                      : tag;
}

std::vector<uint64_t> tag_peaks(const launch::DiaryMemory& memory) {
  std::vector<uint64_t> peaks(memory.tags.size());
  for (const auto& sample : memory.samples) {
    for (size_t i = 0; i < peaks.size(); ++i) peaks[i] = std::max(peaks[i], sample.tag_bytes[i]);
  }
  return peaks;
}

// The order of tags in pictures: the largest first, the smallest together.
struct TagOrder {
  std::vector<size_t> shown;
  std::vector<size_t> rest;
};
TagOrder order_of(const std::vector<uint64_t>& peaks) {
  std::vector<size_t> order;
  for (size_t i = 0; i < peaks.size(); ++i) {
    if (peaks[i] > 0) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return peaks[a] > peaks[b]; });
  TagOrder result;
  for (const size_t tag : order) {
    const bool room = result.shown.size() < kAreasAtMost;
    const bool large = peaks[tag] * 100 >= peaks[order.front()];
    (room && large ? result.shown : result.rest).push_back(tag);
  }
  return result;
}

uint64_t highest_bytes(const TrainingDiary& diary, const TrainingRecord& record) {
  uint64_t highest = record.planned_memory_bytes;
  for (const auto& sample : diary.memory.samples) {
    highest = std::max(highest, sample.resident_bytes);
  }
  return highest;
}

}  // namespace

plot::Chart memory_chart(const TrainingDiary& diary, const TrainingRecord& record) {
  plot::Chart chart{.title = "Memory over time, by what holds it",
                    .summary = "",
                    .x = {.label = "time", .quantity = Quantity::seconds, .from_zero = true},
                    .y = {.label = "memory", .quantity = Quantity::bytes, .from_zero = true},
                    .curves = {},
                    .stacked = true};
  const launch::DiaryMemory& memory = diary.memory;
  const TagOrder order = order_of(tag_peaks(memory));
  const auto add = [&](const std::string& name, const std::vector<size_t>& tags) {
    plot::ChartCurve curve{.name = name, .points = {}, .stroke = plot::Stroke::area};
    for (const auto& sample : memory.samples) {
      double bytes = 0;
      for (const size_t tag : tags) bytes += static_cast<double>(sample.tag_bytes[tag]);
      curve.points.push_back({sample.seconds, bytes});
    }
    chart.curves.push_back(std::move(curve));
  };
  for (const size_t tag : order.shown) add(memory.tags[tag], {tag});
  if (!order.rest.empty()) add(counted(order.rest.size(), "smaller lease"), order.rest);
  plot::ChartCurve resident{.name = "resident, as the kernel counts", .points = {}};
  for (const auto& sample : memory.samples) {
    resident.points.push_back({sample.seconds, static_cast<double>(sample.resident_bytes)});
  }
  chart.curves.push_back(std::move(resident));
  // A limit far above would press everything else onto the axis.
  if (diary.limit_bytes > 0 && diary.limit_bytes < 4 * highest_bytes(diary, record)) {
    chart.levels.push_back({"limit", static_cast<double>(diary.limit_bytes), true});
  }
  if (record.planned_memory_bytes > 0) {
    chart.levels.push_back(
        {"planned peak", static_cast<double>(record.planned_memory_bytes), false});
  }
  return chart;
}

namespace {

plot::BarChart parts_chart(const TrainingDiary& diary) {
  plot::BarChart chart{.title = "Memory by part, planned and leased at its peak",
                       .summary = "",
                       .value = {.label = "memory", .quantity = Quantity::bytes},
                       .series = {"planned", "leased"},
                       .bars = {}};
  // The parts of a moment add up to its leases; each part has its own peak.
  std::map<std::string, double> peaks;
  for (const auto& sample : diary.memory.samples) {
    std::map<std::string, double> parts;
    for (size_t i = 0; i < sample.tag_bytes.size(); ++i) {
      parts[part_of(diary.memory.tags[i], diary.planned_parts)] +=
          static_cast<double>(sample.tag_bytes[i]);
    }
    for (const auto& [part, bytes] : parts) peaks[part] = std::max(peaks[part], bytes);
  }
  for (const auto& part : diary.planned_parts) {
    const auto found = peaks.find(part.name);
    if (part.bytes == 0 && found == peaks.end()) continue;
    chart.bars.push_back({part.name,
                          {static_cast<double>(part.bytes),
                           found == peaks.end() ? std::optional<double>() : found->second}});
    if (found != peaks.end()) peaks.erase(found);
  }
  for (const auto& [part, bytes] : peaks) {
    if (bytes > 0) chart.bars.push_back({part, {std::nullopt, bytes}});
  }
  return chart;
}

}  // namespace

namespace {

std::string share_of_limit(uint64_t bytes, uint64_t limit_bytes) {
  if (limit_bytes == 0) return {};
  return format_percent(static_cast<double>(bytes) / static_cast<double>(limit_bytes)) +
         " of the limit";
}

// Limit, plan and peak, side by side.
std::string memory_facts(uint64_t limit_bytes, uint64_t planned_bytes, uint64_t peak_bytes) {
  const auto known = [](uint64_t bytes) { return bytes > 0 ? format_bytes(bytes) : ""; };
  return fact_list(
      {{"limit", known(limit_bytes)},
       {"planned peak", known(planned_bytes), share_of_limit(planned_bytes, limit_bytes)},
       {"measured peak", known(peak_bytes), share_of_limit(peak_bytes, limit_bytes)}});
}

// Of a GPU that makes the batches.
std::string gpu_html(const launch::GpuRecord& gpu) {
  plot::BarChart chart{.title = "Memory of the GPU by part, planned and taken",
                       .summary = "",
                       .value = {.label = "memory", .quantity = Quantity::bytes},
                       .series = {"planned", "taken"},
                       .bars = {}};
  for (const auto& part : gpu.parts) {
    if (part.planned_bytes == 0 && !part.taken_bytes) continue;
    const auto taken =
        part.taken_bytes ? std::optional(static_cast<double>(*part.taken_bytes)) : std::nullopt;
    chart.bars.push_back({part.name, {static_cast<double>(part.planned_bytes), taken}});
  }
  return paragraph(fmt::format(
             "The GPU ({}) makes the batches. Its memory is taken before the first one. "
             "What torch and the driver take is counted as planned.",
             gpu.name)) +
         figures({figure(chart)}) +
         memory_facts(gpu.limit_bytes, gpu.planned_bytes, gpu.peak_bytes);
}

}  // namespace

std::string memory_html(const OneTraining& one) {
  if (!one.diary) {
    return note(
        "Memory over time was not recorded: an older version trained this, or diary.json was "
        "removed.");
  }
  const TrainingDiary& diary = *one.diary;
  std::string html;
  if (diary.resumed) {
    html += note("This training was resumed: the figures are those of its last process.");
  }
  std::vector<std::string> all;
  if (diary.memory.samples.size() > 1) {
    const plot::Chart chart = memory_chart(diary, one.record);
    if (diary.limit_bytes >= 4 * highest_bytes(diary, one.record)) {
      html += paragraph(
          fmt::format("The limit, {}, is far above this figure.", format_bytes(diary.limit_bytes)));
    }
    all.push_back(wide_figure(chart));
  }
  if (!diary.planned_parts.empty()) all.push_back(figure(parts_chart(diary)));
  HtmlTable tags{.caption = "leases by tag",
                 .columns = {"tag", "peak", "at the end"},
                 .rows = {},
                 .is_text = {true}};
  const std::vector<uint64_t> peaks = tag_peaks(diary.memory);
  for (size_t i = 0; i < peaks.size(); ++i) {
    tags.rows.push_back({diary.memory.tags[i], format_bytes(peaks[i]),
                         format_bytes(diary.memory.samples.back().tag_bytes[i])});
  }
  if (!tags.rows.empty()) all.push_back("<div class=\"card\">" + table(tags) + "</div>\n");
  html += figures(all);
  html += memory_facts(diary.limit_bytes, one.record.planned_memory_bytes,
                       one.record.peak_memory_bytes);
  if (diary.gpu) {
    html += gpu_html(*diary.gpu);
  } else if (one.record.device.starts_with("cuda")) {
    html += note(
        "The memory of the GPU was not recorded. It is known where the GPU makes the batches.");
  }
  return html;
}

}  // namespace plimsoll::report
