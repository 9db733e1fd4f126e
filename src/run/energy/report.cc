#include "energy/report.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace plimsoll::energy {
namespace {

void add_words(std::string& all, const std::string& more) {
  if (more.empty() || all.find(more) != std::string::npos) return;
  all += (all.empty() ? "" : "; ") + more;
}

}  // namespace

std::string name(Quality quality) {
  switch (quality) {
    case Quality::exclusive:
      return "exclusive";
    case Quality::shared:
      return "shared";
    case Quality::unavailable:
      break;
  }
  return "unavailable";
}

Quality quality_of(const std::string& name) {
  if (name == "exclusive") return Quality::exclusive;
  return name == "shared" ? Quality::shared : Quality::unavailable;
}

Figure unavailable(const std::string& because) {
  Figure figure;
  figure.reason = because;
  return figure;
}

std::optional<double> disagreement(const GpuFigures& gpu) {
  const auto counted = gpu.counter.joules;
  const auto integral = gpu.integral.joules;
  if (!counted || !integral || *counted <= 0) return {};
  return std::abs(*integral - *counted) / *counted;
}

Figure sum_of(const std::vector<Figure>& figures) {
  Figure sum;
  sum.joules = 0;
  sum.net_joules = 0;
  sum.coverage = 1;
  sum.quality = Quality::exclusive;
  for (const Figure& figure : figures) {
    sum.joules =
        sum.joules && figure.joules ? std::optional(*sum.joules + *figure.joules) : std::nullopt;
    sum.net_joules = sum.net_joules && figure.net_joules
                         ? std::optional(*sum.net_joules + *figure.net_joules)
                         : std::nullopt;
    sum.coverage = std::min(sum.coverage, figure.coverage);
    sum.quality = std::max(sum.quality, figure.quality);
    add_words(sum.source, figure.source);
    add_words(sum.reason, figure.reason);
  }
  if (figures.empty() || !sum.joules) {
    Figure none = unavailable(sum.reason);
    return none;
  }
  return sum;
}

namespace {

using Json = nlohmann::ordered_json;

Json figure_json(const Figure& figure) {
  Json json = {{"joules", json_of(figure.joules)},
               {"net_joules", json_of(figure.net_joules)},
               {"source", figure.source},
               {"coverage", figure.coverage},
               {"quality", name(figure.quality)}};
  if (!figure.reason.empty()) json["reason"] = figure.reason;
  return json;
}

Figure figure_from(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return unavailable("it was not recorded");
  Figure figure;
  figure.joules = number_in(*found, "joules");
  figure.net_joules = number_in(*found, "net_joules");
  figure.source = found->value("source", "");
  figure.coverage = found->value("coverage", 0.0);
  figure.quality = quality_of(found->value("quality", ""));
  figure.reason = found->value("reason", "");
  return figure;
}

Json range_json(const Range& range) {
  return {{"mean", json_of(range.mean)},
          {"min", json_of(range.smallest)},
          {"max", json_of(range.largest)}};
}

Range range_from(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return {};
  return {.mean = number_in(*found, "mean"),
          .smallest = number_in(*found, "min"),
          .largest = number_in(*found, "max")};
}

Json gpu_json(const GpuFigures& gpu) {
  const auto differ = disagreement(gpu);
  return {{"index", gpu.index},
          {"uuid", gpu.uuid},
          {"name", gpu.name},
          {"energy", figure_json(gpu.energy)},
          {"counter", figure_json(gpu.counter)},
          {"integral", figure_json(gpu.integral)},
          {"disagreement", json_of(differ)},
          {"counter_and_integral_differ", differ.value_or(0) > kDisagreement},
          {"counter_resets", gpu.counter_resets},
          {"samples", gpu.samples},
          {"power_watts", range_json(gpu.watts)},
          {"temperature_celsius", range_json(gpu.celsius)},
          {"utilization_percent", range_json(gpu.percent)}};
}

template <typename T>
T count_in(const Json& json, const char* key) {
  return json.contains(key) ? whole_in<T>(json, key) : 0;
}

GpuFigures gpu_from(const Json& json) {
  return {.index = count_in<unsigned>(json, "index"),
          .uuid = json.value("uuid", ""),
          .name = json.value("name", ""),
          .energy = figure_from(json, "energy"),
          .counter = figure_from(json, "counter"),
          .integral = figure_from(json, "integral"),
          .counter_resets = count_in<unsigned>(json, "counter_resets"),
          .samples = count_in<uint64_t>(json, "samples"),
          .watts = range_from(json, "power_watts"),
          .celsius = range_from(json, "temperature_celsius"),
          .percent = range_from(json, "utilization_percent")};
}

}  // namespace

Json json_of(const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); }

std::optional<double> number_in(const Json& json, const std::string& key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return {};
  return found->get<double>();
}

Json to_json(const EnergyReport& report) {
  Json gpus = Json::array();
  for (const GpuFigures& gpu : report.gpus) gpus.push_back(gpu_json(gpu));
  Json json = {{"seconds", report.seconds},
               {"cpu",
                {{"package", figure_json(report.cpu.package)},
                 {"memory", figure_json(report.cpu.memory)},
                 {"total", figure_json(report.cpu.total)},
                 {"own_cpu_seconds", json_of(report.cpu.own_seconds)},
                 {"other_cpu_seconds", json_of(report.cpu.other_seconds)}}},
               {"gpus", gpus},
               {"all_gpus",
                {{"energy", figure_json(report.all_gpus)},
                 {"power_watts", range_json(report.all_watts)},
                 {"temperature_celsius", range_json(report.all_celsius)},
                 {"utilization_percent", range_json(report.all_percent)}}},
               {"sampling_cpu_seconds", report.sampling_cpu_seconds}};
  if (!report.no_gpus_because.empty()) json["no_gpus_because"] = report.no_gpus_because;
  return json;
}

EnergyReport report_from(const Json& json) {
  const Json cpu = json.value("cpu", Json::object());
  const Json all = json.value("all_gpus", Json::object());
  EnergyReport report{.seconds = json.value("seconds", 0.0),
                      .cpu = {.package = figure_from(cpu, "package"),
                              .memory = figure_from(cpu, "memory"),
                              .total = figure_from(cpu, "total"),
                              .own_seconds = number_in(cpu, "own_cpu_seconds"),
                              .other_seconds = number_in(cpu, "other_cpu_seconds")},
                      .gpus = {},
                      .no_gpus_because = json.value("no_gpus_because", ""),
                      .all_gpus = figure_from(all, "energy"),
                      .all_watts = range_from(all, "power_watts"),
                      .all_celsius = range_from(all, "temperature_celsius"),
                      .all_percent = range_from(all, "utilization_percent"),
                      .sampling_cpu_seconds = json.value("sampling_cpu_seconds", 0.0)};
  for (const Json& gpu : json.value("gpus", Json::array())) report.gpus.push_back(gpu_from(gpu));
  return report;
}

}  // namespace plimsoll::energy
