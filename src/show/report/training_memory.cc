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
std::string part_of(const std::string& tag) {
  static const std::map<std::string, std::string, std::less<>> parts = {
      {"graph", "adjacency"}, {"features", "features"}, {"windows", "windows"},
      {"runtime", "runtime"}, {"splits", "runtime"},    {"tensors", "model"}};
  const auto found = parts.find(tag);
  return found == parts.end() ? "batches" : found->second;
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
      parts[part_of(diary.memory.tags[i])] += static_cast<double>(sample.tag_bytes[i]);
    }
    for (const auto& [part, bytes] : parts) peaks[part] = std::max(peaks[part], bytes);
  }
  for (const auto& part : diary.planned_parts) {
    const auto found = peaks.find(part.name);
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
  const TrainingRecord& record = one.record;
  const auto percent = [&](uint64_t bytes) {
    return diary.limit_bytes == 0 ? std::string()
                                  : format_percent(static_cast<double>(bytes) /
                                                   static_cast<double>(diary.limit_bytes)) +
                                        " of the limit";
  };
  html +=
      fact_list({{"limit", diary.limit_bytes > 0 ? format_bytes(diary.limit_bytes) : ""},
                 {"planned peak",
                  record.planned_memory_bytes > 0 ? format_bytes(record.planned_memory_bytes) : "",
                  percent(record.planned_memory_bytes)},
                 {"measured peak", format_bytes(record.peak_memory_bytes),
                  percent(record.peak_memory_bytes)}});
  return html;
}

}  // namespace plimsoll::report
