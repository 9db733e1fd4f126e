// The figures against curves whose integrals are known: right to half a percent.
#include "energy/meter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "energy/baseline.h"
#include "fake_machine.h"

namespace plimsoll::energy {
namespace {

// 100 W, up to 300 W, and back: 1,800 J in every 10 s.
constexpr const char* kHill = "curve=0:100,2:100,4:300,6:300,8:100,10:100";
constexpr uint64_t kRange = 5'000'000'000;  // 5 kJ: wraps every half minute

class MeterTest : public FakeMachine {
 protected:
  void add_cpus() {
    add_zone("intel-rapl:0", "package-0",
             {.range_microjoules = kRange, .first_microjoules = 4.9e9, .joules = [](double at) {
                return 150 * at + 400 * (1 - std::cos(at / 10));
              }});
    add_zone("intel-rapl:1", "package-1",
             {.range_microjoules = kRange, .first_microjoules = 0, .joules = [](double at) {
                return 90 * at;
              }});
    add_zone("intel-rapl:0:0", "dram",
             {.range_microjoules = kRange, .first_microjoules = 0, .joules = [](double at) {
                return 12 * at;
              }});
  }
  static double package_truth(double at) { return 240 * at + 400 * (1 - std::cos(at / 10)); }
  std::string read_series(const char* name) { return read_file(root_ / name); }
};

TEST_F(MeterTest, IsRightOverManyWraps) {
  add_cpus();
  Sources all = sources({});
  Meter meter(all, {});
  measure(meter, 200);
  const EnergyReport report = meter.report({});
  expect_near(report.cpu.package.joules, package_truth(200));
  expect_near(report.cpu.memory.joules, 2400);
  expect_near(report.cpu.total.joules, package_truth(200) + 2400);
  EXPECT_NEAR(report.cpu.total.coverage, 1, 0.001);
  EXPECT_EQ(report.cpu.total.source, "powercap");
  EXPECT_EQ(report.cpu.total.quality, Quality::exclusive) << report.cpu.total.reason;
}

TEST_F(MeterTest, IsRightOverWrapsWhereItComesLate) {
  add_cpus();
  Sources all = sources({});
  Meter meter(all, {});
  measure(meter, 100, [](double at) { return std::fmod(at, 7) < 0.1 ? 2.2 : 0; });
  const EnergyReport report = meter.report({});
  expect_near(report.cpu.package.joules, package_truth(100));
  EXPECT_NEAR(report.cpu.package.coverage, 1, 0.001);
}

TEST_F(MeterTest, LeavesOutAGapInWhichTheCounterMayHaveWrappedTwice) {
  add_cpus();
  Sources all = sources({});
  Meter meter(all, {});
  measure(meter, 100, [](double at) { return std::abs(at - 50) < 0.04 ? 10 : 0; });
  const EnergyReport report = meter.report({});
  EXPECT_NEAR(report.cpu.package.coverage, 0.9, 0.01);
  expect_near(report.cpu.memory.joules, 12 * 90);
}

TEST_F(MeterTest, HasCounterAndIntegralOfAGpu) {
  gpus_ = std::string("gpu GPU-a 81920 100 counter=123456789 temp=60 util=80 ") + kHill + "\n";
  Sources all = sources({"GPU-a"});
  Meter meter(all, {});
  measure(meter, 137.3);
  const EnergyReport report = meter.report({});
  ASSERT_EQ(report.gpus.size(), 1U);
  const GpuFigures& gpu = report.gpus[0];
  const double truth = 13 * 1800 + 2 * 100 + 2 * 200 + 2 * 300 + 1.3 * 235;
  expect_near(gpu.integral.joules, truth);
  expect_near(gpu.counter.joules, truth);
  expect_near(gpu.energy.joules, truth);
  EXPECT_EQ(gpu.energy.source, "nvml_counter");
  EXPECT_EQ(gpu.integral.source, "nvml_power");
  EXPECT_NEAR(gpu.integral.coverage, 1, 0.001);
  EXPECT_LT(disagreement(gpu).value_or(1), 0.005);
  EXPECT_GE(static_cast<double>(gpu.samples) / 137.3, 10) << "samples a second";
  EXPECT_EQ(gpu.watts.largest, 300);
  EXPECT_EQ(gpu.watts.smallest, 100);
  expect_near(gpu.watts.mean, truth / 137.3);
  EXPECT_NEAR(gpu.celsius.mean.value_or(0), 60, 1e-9);
  EXPECT_NEAR(gpu.percent.largest.value_or(0), 80, 1e-9);
  EXPECT_EQ(gpu.energy.quality, Quality::exclusive) << gpu.energy.reason;
}

TEST_F(MeterTest, IsRightWhenSamplesAreMissed) {
  gpus_ =
      std::string("gpu GPU-a 81920 100 silent=12-12.6,30.5-31.1,47-47.9,73-73.5 ") + kHill + "\n";
  Sources all = sources({"GPU-a"});
  Meter meter(all, {});
  measure(meter, 100, [](double at) { return std::fmod(at, 3) < 0.1 ? 0.3 : 0; });
  const GpuFigures gpu = meter.report({}).gpus.at(0);
  expect_near(gpu.integral.joules, 18'000);
  EXPECT_NEAR(gpu.integral.coverage, 1, 0.001);
}

TEST_F(MeterTest, SaysWhatALongSilenceLeavesUncovered) {
  gpus_ = std::string("gpu GPU-a 81920 100 counter=5 silent=40-60 ") + kHill + "\n";
  Sources all = sources({"GPU-a"});
  Meter meter(all, {});
  measure(meter, 100);
  const GpuFigures gpu = meter.report({}).gpus.at(0);
  EXPECT_NEAR(gpu.integral.coverage, 0.8, 0.01);
  expect_near(gpu.integral.joules, 0.8 * 18'000);
  EXPECT_NEAR(gpu.counter.coverage, 1, 0.001) << "a counter counts without being looked at";
  expect_near(gpu.energy.joules, 18'000);
}

TEST_F(MeterTest, IsRightOverACounterReset) {
  gpus_ = std::string("gpu GPU-a 81920 100 counter=987654321 reset=43.21 ") + kHill + "\n";
  Sources all = sources({"GPU-a"});
  Meter meter(all, {});
  measure(meter, 100);
  const GpuFigures gpu = meter.report({}).gpus.at(0);
  expect_near(gpu.counter.joules, 18'000);
  expect_near(gpu.energy.joules, 18'000);
  expect_near(gpu.integral.joules, 18'000);
  EXPECT_EQ(gpu.counter_resets, 1U);
  EXPECT_EQ(gpu.energy.source, "nvml_counter+nvml_power");
}

TEST_F(MeterTest, TakesTheIntegralWhereAResetHidesALongTime) {
  gpus_ =
      std::string("gpu GPU-a 81920 100 counter=987654321 reset=50 silent=40-60 ") + kHill + "\n";
  Sources all = sources({"GPU-a"});
  Meter meter(all, {});
  measure(meter, 100);
  const GpuFigures gpu = meter.report({}).gpus.at(0);
  EXPECT_NEAR(gpu.energy.coverage, 0.8, 0.01);
  expect_near(gpu.energy.joules, 0.8 * 18'000);
}

TEST_F(MeterTest, HasTheIntegralWhereThereIsNoCounter) {
  gpus_ = std::string("gpu GPU-a 81920 100 ") + kHill + "\n";
  Sources all = sources({"GPU-a"});
  Meter meter(all, {});
  measure(meter, 50);
  const GpuFigures gpu = meter.report({}).gpus.at(0);
  EXPECT_FALSE(gpu.counter.joules);
  EXPECT_EQ(gpu.counter.quality, Quality::unavailable);
  EXPECT_EQ(gpu.counter.reason, "nvmlDeviceGetTotalEnergyConsumption: Some Error");
  expect_near(gpu.energy.joules, 9000);
  EXPECT_EQ(gpu.energy.source, "nvml_power");
}

TEST_F(MeterTest, HasNoNumberWhereNothingCanBeMeasured) {
  gpus_ = "gpu GPU-a 81920 100\n";
  Sources all = sources({"GPU-a"});
  Meter meter(all, {});
  measure(meter, 10);
  const EnergyReport report = meter.report({});
  for (const Figure* figure : {&report.cpu.package, &report.cpu.memory, &report.cpu.total,
                               &report.all_gpus, &report.gpus.at(0).energy}) {
    EXPECT_FALSE(figure->joules);
    EXPECT_EQ(figure->quality, Quality::unavailable);
    EXPECT_NE(figure->reason, "");
  }
  EXPECT_FALSE(report.all_watts.mean);
  EXPECT_NE(report.cpu.total.reason.find("intel-rapl:0"), std::string::npos);
}

TEST_F(MeterTest, KnowsNoCpuTimeOfARunWhoseEndAloneWasSeen) {
  Sources all = sources({});
  Meter meter(all, {});
  set_time(10);
  meter.stop();
  const EnergyReport report = meter.report({});
  EXPECT_FALSE(report.cpu.own_seconds);
  EXPECT_FALSE(report.cpu.other_seconds);
}

TEST_F(MeterTest, TakesACounterThatStandsStillForNone) {
  add_zone("intel-rapl:0", "package-0",
           {.range_microjoules = kRange, .first_microjoules = 0, .joules = [](double at) {
              return 100 * at;
            }});
  add_zone(
      "intel-rapl:0:0", "dram",
      {.range_microjoules = kRange, .first_microjoules = 7, .joules = [](double) { return 0.0; }});
  Sources all = sources({});
  Meter meter(all, {});
  measure(meter, 10);
  const EnergyReport report = meter.report({});
  expect_near(report.cpu.package.joules, 1000);
  EXPECT_FALSE(report.cpu.memory.joules);
  EXPECT_NE(report.cpu.memory.reason.find("did not move"), std::string::npos);
  EXPECT_FALSE(report.cpu.total.joules) << "this machine counts its memory, but not in this run";
}

TEST_F(MeterTest, TakesThePackageForTheTotalWhereThereIsNoDomainForMemory) {
  add_zone("intel-rapl:0", "package-0",
           {.range_microjoules = kRange, .first_microjoules = 0, .joules = [](double at) {
              return 100 * at;
            }});
  Sources all = sources({});
  Meter meter(all, {});
  measure(meter, 10);
  const EnergyReport report = meter.report({});
  expect_near(report.cpu.total.joules, 1000);
  EXPECT_EQ(report.cpu.memory.reason, "powercap has no domain for memory here");
}

TEST_F(MeterTest, HasAColumnForEachOfSeveralGpus) {
  gpus_ = std::string("gpu GPU-a 81920 100 counter=5 temp=50 util=20 ") + kHill +
          "\ngpu GPU-b 81920 100 counter=9 temp=70 util=60 memory_temp=75 curve=0:40,10:60\n";
  Sources all = sources({"GPU-a", "GPU-b"});
  Meter meter(all, {.folder = root_.path(), .begun = {}});
  measure(meter, 40);
  const EnergyReport report = meter.report({});
  ASSERT_EQ(report.gpus.size(), 2U);
  expect_near(report.gpus[0].energy.joules, 7200);
  expect_near(report.gpus[1].energy.joules, 2000);
  expect_near(report.all_gpus.joules, 9200);
  expect_near(report.all_watts.mean, 230);
  EXPECT_NEAR(report.all_celsius.mean.value_or(0), 60, 1e-9);
  EXPECT_NEAR(report.all_celsius.largest.value_or(0), 70, 1e-9);
  EXPECT_NEAR(report.all_percent.mean.value_or(0), 40, 1e-9);
  std::istringstream power(read_series("gpu_power.csv"));
  std::string line;
  std::getline(power, line);
  EXPECT_EQ(line, "timestamp,power_draw_w,gpu0_power_draw_w,gpu1_power_draw_w");
  std::getline(power, line);
  EXPECT_EQ(line, "1700000000.000,140,100,40");
  std::istringstream temperature(read_series("gpu_temperature.csv"));
  std::getline(temperature, line);
  EXPECT_EQ(line,
            "timestamp,gpu_temp_c,memory_temp_c,gpu0_temp_c,gpu1_temp_c,gpu0_memory_temp_c,"
            "gpu1_memory_temp_c");
  std::getline(temperature, line);
  EXPECT_EQ(line, "1700000000.000,70,,50,70,,75");
}

TEST_F(MeterTest, WritesOneGpuAsReadersKnowIt) {
  gpus_ = "gpu GPU-a 81920 100 temp=50 util=20 curve=0:100.5,10:100.5\n";
  Sources all = sources({"GPU-a"});
  Meter meter(all, {.folder = root_.path(), .begun = {}});
  measure(meter, 3);
  meter.report({});
  EXPECT_EQ(read_series("gpu_power.csv").substr(0, 65),
            "timestamp,power_draw_w\n1700000000.000,100.5\n1700000000.080,100.5\n");
  EXPECT_EQ(read_series("gpu_utilization.csv").substr(0, 72),
            "timestamp,gpu_util_percent,memory_util_percent\n1700000000.000,20,0\n17000");
}

TEST_F(MeterTest, MeasuresFromTheBeginningToTheEndOnly) {
  // 50 W before it begins, 300 W from 100 s to 130 s, 50 W while its GPU memory comes back.
  gpus_ = "gpu GPU-a 81920 100 counter=5 curve=0:50,99.99:50,100:300,130:300,130.01:50,1000:50\n";
  now_ = 99;
  Sources all = sources({"GPU-a"});
  Meter meter(all, {.folder = root_.path(), .begun = [this] { return now_ >= 100; }});
  measure(meter, 141.5);
  const EnergyReport report = meter.report(30);
  EXPECT_EQ(report.seconds, 30);
  expect_near(report.gpus.at(0).integral.joules, 9000);
  expect_near(report.gpus[0].counter.joules, 9000);
  EXPECT_NEAR(report.gpus[0].integral.coverage, 1, 0.002);
  EXPECT_NEAR(report.gpus[0].watts.smallest.value_or(0), 300, 0.001);
  const std::string series = read_series("gpu_power.csv");
  EXPECT_EQ(series.find(",50\n"), std::string::npos);
}

TEST_F(MeterTest, SaysThatARunDidNotBegin) {
  add_cpus();
  Sources all = sources({});
  Meter meter(all, {.folder = {}, .begun = [] { return false; }});
  measure(meter, 5);
  const EnergyReport report = meter.report({});
  EXPECT_FALSE(report.cpu.total.joules);
  EXPECT_EQ(report.cpu.total.reason, "the run did not start");
}

TEST_F(MeterTest, SaysThatOthersWereOnThePackage) {
  add_cpus();
  other_cpus_ = 2;
  Sources all = sources({});
  Meter meter(all, {});
  measure(meter, 20);
  const EnergyReport report = meter.report({});
  EXPECT_EQ(report.cpu.total.quality, Quality::shared);
  EXPECT_EQ(report.cpu.total.reason, "other processes used 40.00 s of CPU time, the run 20.00 s");
  EXPECT_TRUE(report.cpu.total.joules);
  EXPECT_NEAR(report.cpu.other_seconds.value_or(0), 40, 0.1);
}

TEST_F(MeterTest, SaysThatOthersWereOnTheGpu) {
  gpus_ =
      "gpu GPU-a 81920 100 counter=5 curve=0:100,10:100\ngpu GPU-b 81920 9000 counter=5 "
      "curve=0:100,10:100\nprocess 1 4711 9000\n";
  write_file(root_ / "proc/4711/stat",
             "4711 (python) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7777 1 1 1 1\n");
  write_file(root_ / "proc/4711/cmdline", "python train.py");
  for (const bool ours : {false, true}) {
    our_pid_ = ours ? 4711 : 0;
    now_ = 0;
    Sources all = sources({"GPU-a", "GPU-b"});
    Meter meter(all, {});
    measure(meter, 10);
    const EnergyReport report = meter.report({});
    EXPECT_EQ(report.gpus.at(0).energy.quality, Quality::exclusive);
    EXPECT_EQ(report.gpus.at(1).energy.quality, ours ? Quality::exclusive : Quality::shared);
    EXPECT_EQ(report.all_gpus.quality, ours ? Quality::exclusive : Quality::shared);
    const bool named =
        report.all_gpus.reason.find("python train.py (pid 4711") != std::string::npos;
    EXPECT_EQ(named, !ours) << report.all_gpus.reason;
  }
}

TEST_F(MeterTest, HasNetFiguresWithABaseline) {
  add_zone("intel-rapl:0", "package-0",
           {.range_microjoules = kRange, .first_microjoules = 0, .joules = [](double at) {
              return 20 * at + (at > 30 ? 80 * (at - 30) : 0);
            }});
  gpus_ = "gpu GPU-a 81920 100 counter=5 curve=0:50,30:50,30.001:250,1000:250\n";
  Sources all = sources({"GPU-a"});
  Meter idle(all, {});
  measure(idle, 30);
  const Baseline baseline = baseline_of(idle.report({}), 1.7e9);
  expect_near(baseline.package_watts, 20);
  expect_near(baseline.gpus.at(0).counter_watts, 50);
  Meter meter(all, {});
  measure(meter, 50);
  EnergyReport report = meter.report({});
  EXPECT_FALSE(report.cpu.total.net_joules);
  subtract(baseline, report);
  expect_near(report.cpu.total.joules, 2000);
  expect_near(report.cpu.total.net_joules, 1600);
  expect_near(report.all_gpus.joules, 5000);
  expect_near(report.all_gpus.net_joules, 4000);
  expect_near(report.gpus.at(0).integral.net_joules, 4000);
  save(baseline, root_ / "idle_baseline.json");
  const auto loaded = load_baseline(root_ / "idle_baseline.json");
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->package_watts, baseline.package_watts);
  EXPECT_FALSE(loaded->memory_watts);
  EXPECT_EQ(loaded->gpus.at(0).integral_watts, baseline.gpus.at(0).integral_watts);
  EXPECT_FALSE(load_baseline(root_ / "nowhere"));
  write_file(root_ / "deep.json", std::string(100'000, '['));
  expect_error(ErrorKind::input, {"deep.json", "100000 deep"},
               [&] { load_baseline(root_ / "deep.json"); });
}

}  // namespace
}  // namespace plimsoll::energy
