#include "experiment/energy_outputs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "experiment/outputs.h"

namespace plimsoll::experiment {
namespace {

energy::Figure figure(double joules) {
  energy::Figure made;
  made.joules = joules;
  made.source = "nvml_counter";
  made.coverage = 1;
  made.quality = energy::Quality::exclusive;
  return made;
}

ExperimentResult with_gpus(const std::vector<unsigned>& indices) {
  energy::EnergyReport report{.seconds = 2};
  report.cpu.total = energy::unavailable("closed, and \"why\"");
  std::vector<energy::Figure> energies;
  for (const unsigned index : indices) {
    energy::GpuFigures gpu{.index = index};
    gpu.energy = gpu.counter = gpu.integral = figure(100 + index);
    energies.push_back(gpu.energy);
    report.gpus.push_back(gpu);
  }
  report.all_gpus = energy::sum_of(energies);
  ExperimentResult result{.success = true};
  result.last.energy = std::make_shared<energy::EnergyReport>(report);
  return result;
}

Experiment experiment(size_t number) {
  return {.number = number, .id = "run__" + std::to_string(number)};
}

std::string cell(const std::vector<Row>& rows, size_t row, const std::string& column) {
  const auto found = std::find(rows[0].begin(), rows[0].end(), column);
  if (found == rows[0].end()) return "no such column";
  return rows[row].at(static_cast<size_t>(found - rows[0].begin()));
}

TEST(EnergyOutputs, GiveEveryRowTheSameColumns) {
  SummaryTable summary({}, {});
  summary.set(experiment(1), with_gpus({0}));
  EXPECT_EQ(summary.text().find("energy_gpu0_"), std::string::npos) << "one GPU: as ever";
  summary.set(experiment(2), with_gpus({0, 2}));
  summary.set(experiment(3), with_gpus({}));
  ExperimentResult not_measured;
  summary.set(experiment(4), not_measured);
  const auto rows = parse_table(summary.text());
  ASSERT_EQ(rows.size(), 5U);
  for (const Row& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_EQ(cell(rows, 1, "energy_gpu_total_joules"), "100.000");
  EXPECT_EQ(cell(rows, 1, "energy_gpu0_total_joules"), "100.000");
  EXPECT_EQ(cell(rows, 1, "energy_gpu2_total_joules"), "");
  EXPECT_EQ(cell(rows, 2, "energy_gpu_total_joules"), "202.000");
  EXPECT_EQ(cell(rows, 2, "energy_gpu2_total_joules"), "102.000");
  EXPECT_EQ(cell(rows, 2, "energy_gpu2_quality"), "exclusive");
  EXPECT_EQ(cell(rows, 2, "energy_cpu_total_joules"), "");
  EXPECT_EQ(cell(rows, 2, "energy_cpu_quality"), "unavailable");
  EXPECT_EQ(cell(rows, 2, "energy_note"), "closed, and \"why\"");
  EXPECT_EQ(cell(rows, 3, "energy_gpu_total_joules"), "");
  EXPECT_EQ(cell(rows, 4, "energy_gpu_quality"), "unavailable");
}

TEST(EnergyOutputs, KeepAFigureThatIsUnknownNull) {
  const auto json = energy_json(with_gpus({0}).last);
  EXPECT_TRUE(json.at("cpu_energy_total_joules").is_null());
  EXPECT_EQ(json.at("gpu_energy_total_joules"), 100);
  EXPECT_EQ(energy_json(AttemptResult{}).at("quality"), "unavailable");
}

TEST(EnergyOutputs, ReadBackFromTheJournal) {
  const ExperimentResult result = with_gpus({0, 1});
  const ExperimentResult read = result_of(to_text(result));
  ASSERT_TRUE(read.last.energy);
  EXPECT_EQ(to_text(read), to_text(result));
  EXPECT_FALSE(attempt_of(to_text(AttemptResult{})).energy);
}

}  // namespace
}  // namespace plimsoll::experiment
