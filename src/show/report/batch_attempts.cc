// What happened in the queue of a batch: energy over time, causes, and what ran when.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "answer/results_table.h"
#include "base/units.h"
#include "diagnosis/verdict.h"
#include "plot/axis.h"
#include "report/bodies.h"

namespace plimsoll::report {
namespace {

using plot::Quantity;

constexpr size_t kFailuresAtMost = 100;

struct EnergyPoint {
  double ended = 0;
  std::optional<double> joules;
  double coverage = 0;
  std::string label;
};

// Why an attempt has no figure; empty if it was not measured at all.
std::string reason_in(const experiment::AttemptResult& attempt) {
  if (attempt.energy == nullptr) return {};
  for (const energy::Figure* part : {&attempt.energy->cpu.total, &attempt.energy->all_gpus}) {
    if (!part->joules && !part->reason.empty()) return part->reason;
  }
  return {};
}

double coverage_of(const experiment::AttemptResult& attempt) {
  double least = 1;
  for (const energy::Figure* part : {&attempt.energy->cpu.total, &attempt.energy->all_gpus}) {
    if (part->joules) least = std::min(least, part->coverage);
  }
  return least;
}

std::string energy_over_time(const BatchData& data, double first) {
  std::vector<EnergyPoint> points;
  size_t missing = 0;
  std::string why;
  for (const AttemptData& attempt : data.attempts) {
    if (!attempt.ended) continue;
    const auto joules = joules_of(data, attempt.result);
    if (!joules && why.empty()) why = reason_in(attempt.result);
    missing += joules ? 0 : 1;
    points.push_back(
        {attempt.result.started + attempt.result.seconds - first, joules,
         joules ? coverage_of(attempt.result) : 0,
         fmt::format("{}: {}", data.queue[attempt.experiment].folder,
                     joules ? plot::value_text(Quantity::joules, *joules) : "no figure")});
  }
  if (points.empty()) return note("No attempt has ended yet.");
  if (missing == points.size()) {
    std::string html =
        note("No energy was measured. plimsoll doctor says what this machine can measure.");
    for (const auto& [part, reasons] : data.configurations.energy_missing) {
      for (const std::string& reason : reasons) {
        html += paragraph(fmt::format("{}: {}.", part, reason));
      }
    }
    return html;
  }
  std::ranges::sort(points, {}, &EnergyPoint::ended);
  plot::Chart sum{
      .title = "Energy of all attempts so far",
      .summary = "",
      .x = {.label = "time since the first attempt",
            .quantity = Quantity::seconds,
            .from_zero = true},
      .y = {.label = "energy", .quantity = Quantity::joules, .from_zero = true},
      .curves = {{.name = "energy", .points = {{0, 0}}, .stroke = plot::Stroke::steps}}};
  plot::Chart coverage{
      .title = "Share of each attempt that the energy covers",
      .summary = "",
      .x = sum.x,
      .y = {.label = "coverage", .quantity = Quantity::share, .from_zero = true},
      .curves = {{.name = "attempts", .points = {}, .stroke = plot::Stroke::points}}};
  double total = 0;
  for (const EnergyPoint& point : points) {
    total += point.joules.value_or(0);
    sum.curves[0].points.push_back({point.ended, total});
    coverage.curves[0].points.push_back({point.ended, point.coverage});
    coverage.curves[0].labels.push_back(point.label);
  }
  std::string out = paragraph(fmt::format("{} in {}.", plot::value_text(Quantity::joules, total),
                                          counted(points.size() - missing, "attempt")));
  if (missing > 0) {
    out += note(fmt::format(
        "{} without a figure: they are not in the sum, and their coverage is "
        "0.{}",
        counted(missing, "attempt"), why.empty() ? "" : fmt::format(" The first one: {}.", why)));
  }
  if (const std::string part = energy_note(data.configurations); !part.empty()) {
    out += note(part + ".");
  }
  return out + figures({figure(sum), figure(coverage)});
}

bool counts_as_failure(const AttemptData& attempt) {
  const auto cause = attempt.result.cause;
  return attempt.ended && cause != diagnosis::Cause::success &&
         cause != diagnosis::Cause::stopped_early;
}

}  // namespace

std::string causes_html(const BatchData& data) {
  std::map<std::string, double> counts;
  HtmlTable failures{.caption = "attempts that failed, newest first",
                     .columns = {"experiment", "attempt", "cause", "what happened", "evidence",
                                 "what helps", "then"},
                     .rows = {},
                     .is_text = {true, false, true, true, true, true, true}};
  size_t failed_ones = 0;
  for (auto attempt = data.attempts.rbegin(); attempt != data.attempts.rend(); ++attempt) {
    if (attempt->ended) counts[std::string(name(attempt->result.cause))] += 1;
    if (!counts_as_failure(*attempt)) continue;
    ++failed_ones;
    if (failures.rows.size() == kFailuresAtMost) continue;
    failures.rows.push_back(
        {data.queue[attempt->experiment].folder, fmt::format("{}", attempt->number),
         std::string(name(attempt->result.cause)), attempt->result.headline,
         attempt->result.evidence, attempt->result.next_step, attempt->result.after});
  }
  if (counts.empty()) return note("No attempt has ended yet.");
  plot::BarChart chart{.title = "How attempts ended",
                       .summary = "",
                       .value = {.label = "attempts", .quantity = Quantity::count},
                       .series = {"attempts"},
                       .bars = {}};
  for (const auto& [cause, count] : counts) chart.bars.push_back({cause, {count}});
  std::ranges::sort(chart.bars, [](const plot::Bar& a, const plot::Bar& b) {
    return *a.values[0] > *b.values[0];
  });
  std::string out = figures({figure(chart)});
  if (failures.rows.size() < failed_ones) {
    out += note(fmt::format("The newest {} of {} are shown.", failures.rows.size(), failed_ones));
  }
  return failures.rows.empty() ? out + paragraph("No attempt failed.") : out + table(failures);
}

namespace {

// Attempts that ran at once get lanes of their own, in the order of their starts.
plot::GanttChart queue_chart(const BatchData& data, double first, double now) {
  plot::GanttChart chart{.title = "The queue over time",
                         .summary = "",
                         .time = {.label = "time since the first attempt",
                                  .quantity = Quantity::seconds,
                                  .from_zero = true},
                         .kinds = {"succeeded", "failed", "stopped early", "not ended"},
                         .lanes = {}};
  std::vector<const AttemptData*> attempts;
  for (const AttemptData& attempt : data.attempts) {
    if (attempt.result.started > 0) attempts.push_back(&attempt);
  }
  std::ranges::stable_sort(attempts, {},
                           [](const AttemptData* one) { return one->result.started; });
  std::vector<double> busy_until;
  std::set<size_t> used;
  for (const AttemptData* attempt : attempts) {
    const double from = attempt->result.started - first;
    const bool running = !attempt->ended && data.found.state == FoundState::running;
    const double to =
        from + (running ? std::max(0.0, now - attempt->result.started) : attempt->result.seconds);
    const auto cause = attempt->result.cause;
    const size_t kind = !attempt->ended                            ? 3
                        : cause == diagnosis::Cause::success       ? 0
                        : cause == diagnosis::Cause::stopped_early ? 2
                                                                   : 1;
    used.insert(kind);
    // Two clocks may differ by a moment.
    const auto free =
        std::ranges::find_if(busy_until, [&](double until) { return until <= from + 0.05; });
    const auto lane = static_cast<size_t>(free - busy_until.begin());
    if (free == busy_until.end()) {
      busy_until.push_back(0);
      chart.lanes.push_back({fmt::format("place {}", lane + 1), {}});
    }
    busy_until[lane] = to;
    chart.lanes[lane].spans.push_back(
        {from, to, kind,
         fmt::format("{}, attempt {}: {}, {}", data.queue[attempt->experiment].folder,
                     attempt->number,
                     attempt->ended ? std::string(name(cause)) : std::string("not ended"),
                     plot::value_text(Quantity::seconds, to - from))});
  }
  while (!chart.kinds.empty() && !used.contains(chart.kinds.size() - 1)) chart.kinds.pop_back();
  return chart;
}

// From the first start to the last end, or now.
struct BatchTime {
  double first = INFINITY;
  double last = 0;
  double seconds() const { return last > first ? last - first : 0; }
};
BatchTime time_of(const BatchData& data) {
  BatchTime time;
  for (const AttemptData& attempt : data.attempts) {
    if (attempt.result.started <= 0) continue;
    time.first = std::min(time.first, attempt.result.started);
    time.last = std::max(time.last, attempt.result.started + attempt.result.seconds);
  }
  if (data.found.state == FoundState::running) time.last = std::max(time.last, data.found.changed);
  return time;
}

}  // namespace

double batch_seconds(const BatchData& data) { return time_of(data).seconds(); }

std::string energy_html(const BatchData& data) {
  return energy_over_time(data, time_of(data).first);
}

plot::GanttChart queue_chart(const BatchData& data) {
  const BatchTime time = time_of(data);
  return queue_chart(data, time.first, time.last);
}

std::optional<double> joules_of(const BatchData& data, const experiment::AttemptResult& attempt) {
  if (attempt.energy == nullptr || data.configurations.energy_parts.empty()) return std::nullopt;
  return answer::energy_of(attempt, data.configurations.energy_parts);
}

}  // namespace plimsoll::report
