// The thread around the meter, in real time and for a short one.
#include "energy/recorder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "energy/report.h"
#include "energy/sources.h"
#include "temp_folder.h"

namespace plimsoll::energy {
namespace {

using std::chrono::milliseconds;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// 100 W, counted since the machine started.
class SteadyGpu : public meter::Gpus {
 public:
  std::vector<meter::GpuReading> read() override { return read_counters(); }
  std::vector<meter::GpuReading> read_counters() override {
    meter::GpuReading gpu{.index = 0, .uuid = "GPU-a"};
    gpu.power_watts = 100;
    gpu.energy_millijoules = static_cast<uint64_t>(100'000 * seconds());
    gpu.temperature_celsius = 40;
    return {gpu};
  }
  std::string driver_version() const override { return "1"; }
};

Sources steady_sources(const std::filesystem::path& root) {
  return {.cpu = CpuCounters::open({.root = root, .variable = {}},
                                   [](const meter::PowerEvent&) { return Fd(); }),
          .gpus = std::make_unique<SteadyGpu>(),
          .devices = {{.index = 0, .uuid = "GPU-a", .name = "Steady"}},
          .no_gpus_because = {},
          .proc = "/proc",
          .is_ours = [](pid_t) { return true; },
          .own_cpu_seconds = own_cpu_seconds,
          .now = seconds,
          .epoch = seconds};
}

TEST(Recorder, MeasuresRunsOneAfterTheOther) {
  const TempFolder root;
  Recorder recorder(steady_sources(root.path()));
  for (const char* name : {"one", "two"}) {
    std::atomic<bool> begun = false;
    recorder.start(root / name, [&] { return begun.load(); });
    std::this_thread::sleep_for(milliseconds(100));
    begun = true;
    std::this_thread::sleep_for(milliseconds(500));
    recorder.stop();
    const EnergyReport report = recorder.report();
    EXPECT_NEAR(report.seconds, 0.5, 0.2);
    EXPECT_NEAR(report.all_gpus.joules.value_or(0), 100 * report.seconds, 3);
    EXPECT_GT(report.all_gpus.coverage, 0.95);
    EXPECT_NE(
        read_file(root / name / "cpu_energy.txt").find("Package Energy (Joules): unavailable\n"),
        std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(root / name / "gpu_power.csv"));
    EXPECT_LT(report.sampling_cpu_seconds, 0.1);
  }
}

TEST(Recorder, SubtractsTheBaselineThatItMeasured) {
  const TempFolder root;
  Recorder recorder(steady_sources(root.path()));
  EXPECT_NEAR(recorder.measure_baseline(0.3).gpus.at(0).counter_watts.value_or(0), 100, 3);
  recorder.start({});
  std::this_thread::sleep_for(milliseconds(300));
  const EnergyReport report = recorder.report();
  EXPECT_NEAR(report.all_gpus.net_joules.value_or(99), 0, 3);
  EXPECT_GT(report.all_gpus.joules.value_or(0), 20);
}

TEST(Recorder, MayGoInTheMiddleOfARun) {
  const TempFolder root;
  Recorder recorder(steady_sources(root.path()));
  recorder.start(root / "one");
}

TEST(Recorder, MeasuresWhereItsFolderCannotBe) {
  const TempFolder root;
  write_file(root / "file", "");
  Recorder recorder(steady_sources(root.path()));
  recorder.start(root / "file/folder");
  std::this_thread::sleep_for(milliseconds(50));
  const EnergyReport report = recorder.report();
  EXPECT_TRUE(report.all_gpus.joules);
  EXPECT_NE(report.all_gpus.reason.find("cannot make"), std::string::npos);
}

Figure figure(double joules) {
  Figure made;
  made.joules = joules;
  made.source = "powercap";
  made.coverage = 0.9;
  made.quality = Quality::shared;
  made.reason = "others";
  return made;
}

TEST(EnergyReport, ReadsBackFromItsJson) {
  EnergyReport report{.seconds = 12.5};
  report.cpu.package = figure(10);
  report.cpu.package.net_joules = -1;
  report.cpu.memory = unavailable("there is none");
  report.cpu.total = figure(10);
  report.gpus.push_back({.index = 3,
                         .uuid = "GPU-a",
                         .name = "H200",
                         .energy = figure(5),
                         .counter = figure(5),
                         .integral = figure(6),
                         .counter_resets = 1,
                         .samples = 99,
                         .watts = {.mean = 1, .smallest = 2, .largest = 3}});
  report.all_gpus = figure(5);
  report.sampling_cpu_seconds = 0.01;
  const auto json = to_json(report);
  EXPECT_TRUE(json.at("cpu").at("memory").at("joules").is_null());
  EXPECT_TRUE(json.at("gpus").at(0).at("counter_and_integral_differ"));
  EXPECT_EQ(to_json(report_from(json)).dump(), json.dump());
}

TEST(EnergyReport, WritesTheCpuSummaryThatReadersKnow) {
  EnergyReport report;
  report.cpu.package = figure(12345.678);
  report.cpu.memory = figure(2345.6);
  report.cpu.total = sum_of({report.cpu.package, report.cpu.memory});
  EXPECT_EQ(cpu_energy_text(report),
            "CPU Energy Consumption Summary\n"
            "==============================\n"
            "Package Energy (Joules): 12345.68\n"
            "RAM Energy (Joules): 2345.60\n"
            "Total CPU Energy (Joules): 14691.28\n"
            "\n"
            "Source: powercap\n"
            "Coverage: 90 %\n"
            "Quality: shared\n"
            "Because: others\n");
}

TEST(EnergyReport, SumsOnlyWhatIsKnown) {
  EXPECT_EQ(sum_of({figure(1), figure(2)}).joules, 3);
  const Figure sum = sum_of({figure(1), unavailable("closed")});
  EXPECT_FALSE(sum.joules);
  EXPECT_EQ(sum.quality, Quality::unavailable);
  EXPECT_EQ(sum.reason, "others; closed");
  EXPECT_FALSE(sum_of({}).joules);
}

}  // namespace
}  // namespace plimsoll::energy
