#include "experiment/energy_outputs.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

namespace plimsoll::experiment {
namespace {

using energy::EnergyReport;
using energy::Figure;
using Json = nlohmann::ordered_json;
using Number = std::optional<double>;

struct Named {
  const char* column;  // of the summary
  const char* key;     // of energy_metrics
  Number (*value)(const EnergyReport&);
};

constexpr std::array<Named, 11> kFigures = {{
    {"energy_cpu_pkg_joules", "cpu_energy_pkg_joules",
     [](const EnergyReport& report) { return report.cpu.package.joules; }},
    {"energy_cpu_ram_joules", "cpu_energy_ram_joules",
     [](const EnergyReport& report) { return report.cpu.memory.joules; }},
    {"energy_cpu_total_joules", "cpu_energy_total_joules",
     [](const EnergyReport& report) { return report.cpu.total.joules; }},
    {"energy_gpu_avg_watts", "gpu_power_avg_watts",
     [](const EnergyReport& report) { return report.all_watts.mean; }},
    {"energy_gpu_max_watts", "gpu_power_max_watts",
     [](const EnergyReport& report) { return report.all_watts.largest; }},
    {"energy_gpu_min_watts", "gpu_power_min_watts",
     [](const EnergyReport& report) { return report.all_watts.smallest; }},
    {"energy_gpu_total_joules", "gpu_energy_total_joules",
     [](const EnergyReport& report) { return report.all_gpus.joules; }},
    {"energy_gpu_temp_avg_celsius", "gpu_temp_avg_celsius",
     [](const EnergyReport& report) { return report.all_celsius.mean; }},
    {"energy_gpu_temp_max_celsius", "gpu_temp_max_celsius",
     [](const EnergyReport& report) { return report.all_celsius.largest; }},
    {"energy_gpu_util_avg_percent", "gpu_util_avg_percent",
     [](const EnergyReport& report) { return report.all_percent.mean; }},
    {"energy_gpu_util_max_percent", "gpu_util_max_percent",
     [](const EnergyReport& report) { return report.all_percent.largest; }},
}};

constexpr std::array<const char*, 14> kGpuColumns = {
    "avg_watts",        "max_watts",        "min_watts",        "total_joules",
    "temp_avg_celsius", "temp_max_celsius", "util_avg_percent", "util_max_percent",
    "source",           "coverage",         "quality",          "net_joules",
    "counter_joules",   "integral_joules"};

std::string text_of(const Number& number) {
  if (!number) return "";
  // Three decimals are enough, except for values below 1, as in a run of milliseconds.
  const bool small = *number > -1 && *number < 1;
  return small ? fmt::format("{:.6g}", *number) : fmt::format("{:.3f}", *number);
}

std::string coverage_text(const Figure& figure) {
  return figure.joules ? fmt::format("{:.4f}", figure.coverage) : "";
}

// Nothing unless every GPU has the figure.
Number sum_over(const EnergyReport& report, Figure energy::GpuFigures::*member) {
  std::vector<Figure> figures;
  figures.reserve(report.gpus.size());
  for (const energy::GpuFigures& gpu : report.gpus) figures.push_back(gpu.*member);
  return energy::sum_of(figures).joules;
}

// Why figures are shared or missing, each reason once.
std::string reasons(const EnergyReport& report) {
  std::string text;
  for (const Figure* figure : {&report.cpu.total, &report.cpu.memory, &report.all_gpus}) {
    if (figure->reason.empty() || text.find(figure->reason) != std::string::npos) continue;
    text += (text.empty() ? "" : "; ") + figure->reason;
  }
  for (const energy::GpuFigures& gpu : report.gpus) {
    const auto differ = energy::disagreement(gpu);
    if (differ.value_or(0) <= energy::kDisagreement) continue;
    text += fmt::format("{}GPU {}: counter and integral differ by {:.1f} %",
                        text.empty() ? "" : "; ", gpu.index, 100 * *differ);
  }
  return text;
}

}  // namespace

Row energy_columns() {
  Row names;
  for (const Named& figure : kFigures) names.emplace_back(figure.column);
  return names;
}

Row energy_cells(const AttemptResult& attempt) {
  Row cells;
  for (const Named& figure : kFigures) {
    cells.push_back(attempt.energy ? text_of(figure.value(*attempt.energy)) : "");
  }
  return cells;
}

Row energy_note_columns() {
  return {"energy_cpu_source",
          "energy_cpu_coverage",
          "energy_cpu_quality",
          "energy_cpu_net_joules",
          "energy_gpu_source",
          "energy_gpu_coverage",
          "energy_gpu_quality",
          "energy_gpu_net_joules",
          "energy_gpu_counter_joules",
          "energy_gpu_integral_joules",
          "energy_note"};
}

Row energy_notes(const AttemptResult& attempt) {
  if (!attempt.energy) {
    Row cells(energy_note_columns().size());
    cells[2] = cells[6] = energy::name(energy::Quality::unavailable);
    cells.back() = "energy was not measured";
    return cells;
  }
  const EnergyReport& report = *attempt.energy;
  const Figure& cpu = report.cpu.total;
  const Figure& gpu = report.all_gpus;
  return {cpu.source,
          coverage_text(cpu),
          energy::name(cpu.quality),
          text_of(cpu.net_joules),
          gpu.source,
          coverage_text(gpu),
          energy::name(gpu.quality),
          text_of(gpu.net_joules),
          text_of(sum_over(report, &energy::GpuFigures::counter)),
          text_of(sum_over(report, &energy::GpuFigures::integral)),
          reasons(report)};
}

Row gpu_columns(unsigned index) {
  Row names;
  for (const char* name : kGpuColumns) names.push_back(fmt::format("energy_gpu{}_{}", index, name));
  return names;
}

Row gpu_cells(const energy::GpuFigures& gpu) {
  return {
      text_of(gpu.watts.mean),     text_of(gpu.watts.largest),       text_of(gpu.watts.smallest),
      text_of(gpu.energy.joules),  text_of(gpu.celsius.mean),        text_of(gpu.celsius.largest),
      text_of(gpu.percent.mean),   text_of(gpu.percent.largest),     gpu.energy.source,
      coverage_text(gpu.energy),   energy::name(gpu.energy.quality), text_of(gpu.energy.net_joules),
      text_of(gpu.counter.joules), text_of(gpu.integral.joules)};
}

Json energy_figures_json(const AttemptResult& attempt) {
  Json json = Json::object();
  for (const Named& figure : kFigures) {
    json[figure.key] = energy::json_of(attempt.energy ? figure.value(*attempt.energy) : Number());
  }
  return json;
}

Json energy_json(const AttemptResult& attempt) {
  Json json = energy_figures_json(attempt);
  if (!attempt.energy) {
    json["quality"] = energy::name(energy::Quality::unavailable);
    json["reason"] = "energy was not measured";
    return json;
  }
  const EnergyReport& report = *attempt.energy;
  json["cpu_energy_net_joules"] = energy::json_of(report.cpu.total.net_joules);
  json["gpu_energy_net_joules"] = energy::json_of(report.all_gpus.net_joules);
  json["cpu_quality"] = energy::name(report.cpu.total.quality);
  json["gpu_quality"] = energy::name(report.all_gpus.quality);
  json["note"] = reasons(report);
  json["details"] = energy::to_json(report);
  return json;
}

}  // namespace plimsoll::experiment
