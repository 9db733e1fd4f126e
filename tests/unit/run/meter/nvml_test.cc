#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "meter/gpu.h"
#include "temp_folder.h"

namespace plimsoll::meter {
namespace {

class Nvml : public testing::Test {
 protected:
  void TearDown() override { unsetenv("FAKE_NVML_STATE"); }

  void set_state(const std::string& text) {
    write_file(folder_ / "state", text);
    setenv("FAKE_NVML_STATE", (folder_ / "state").c_str(), 1);
  }
  void add_process(int pid, const std::string& command) {
    const std::string base = "proc/" + std::to_string(pid);
    write_file(
        folder_ / (base + "/stat"),
        std::to_string(pid) + " (a) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7777 1 1 1 1\n");
    write_file(folder_ / (base + "/cmdline"), command);
  }
  void open_file(int pid, const std::string& device) {
    const auto fds = folder_ / ("proc/" + std::to_string(pid) + "/fd");
    std::filesystem::create_directories(fds);
    std::filesystem::create_symlink(device, fds / std::to_string(next_fd_++));
  }
  GpuAccess open(std::string library = FAKE_NVML) const {
    return open_gpus({.root = folder_.path(),
                      .variable = [library](const std::string& name) -> std::optional<std::string> {
                        if (name == "PLIMSOLL_NVML") return library;
                        return {};
                      }});
  }

  TempFolder folder_;
  int next_fd_ = 3;
};

TEST_F(Nvml, SaysWhyThereIsNoGpuWhereThereIsNoDriver) {
  const GpuAccess access = open("libthere-is-no-such.so.1");
  EXPECT_FALSE(access.gpus);
  EXPECT_NE(access.missing_because.find("there is no NVIDIA driver (libthere-is-no-such.so.1"),
            std::string::npos);
}

TEST_F(Nvml, RefusesALibraryThatIsAnother) {
  const GpuAccess access = open("libm.so.6");
  EXPECT_FALSE(access.gpus);
  EXPECT_EQ(access.missing_because, "libm.so.6 is no NVIDIA management library");
}

TEST_F(Nvml, SaysWhatADriverAnswersThatDoesNotStart) {
  set_state("fail nvmlInit_v2 9\n");
  EXPECT_EQ(open().missing_because, "the NVIDIA driver does not answer: Driver Not Loaded");
}

TEST_F(Nvml, ReadsEveryFigure) {
  set_state(
      "driver 550.54.14\n"
      "gpu GPU-a 81920 1024 name=NVIDIA_H200 energy=123456 power=70500 util=42 temp=33 minor=0\n");
  const GpuAccess access = open();
  ASSERT_TRUE(access.gpus) << access.missing_because;
  EXPECT_EQ(access.gpus->driver_version(), "550.54.14");
  const auto readings = access.gpus->read_counters();
  ASSERT_EQ(readings.size(), 1U);
  const GpuReading& gpu = readings[0];
  EXPECT_EQ(gpu.uuid, "GPU-a");
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.total_bytes, 80 * kGiB);
  EXPECT_EQ(gpu.used_bytes, kGiB);
  EXPECT_EQ(gpu.free_bytes, 79 * kGiB);
  EXPECT_EQ(gpu.utilisation_percent, 42U);
  EXPECT_DOUBLE_EQ(gpu.power_watts.value_or(0), 70.5);
  EXPECT_EQ(gpu.temperature_celsius, 33U);
  EXPECT_EQ(gpu.energy_millijoules, 123456U);
}

TEST_F(Nvml, LeavesOutWhatADeviceDoesNotSupport) {
  set_state("gpu GPU-a 1024 0 energy=5\nfail nvmlDeviceGetTotalEnergyConsumption 3\n");
  const auto readings = open().gpus->read();
  EXPECT_FALSE(readings.at(0).energy_millijoules);
  EXPECT_FALSE(readings.at(0).power_watts);
  EXPECT_FALSE(readings.at(0).temperature_celsius);
}

TEST_F(Nvml, SamplesWhatAMeterNeeds) {
  set_state(
      "gpu GPU-a 1024 0 energy=5000 power=70500 temp=33 util=42\n"
      "gpu GPU-b 1024 0 power=70500 instant=90000 memory_temp=55\n");
  const GpuAccess access = open();
  const auto quick = access.gpus->sample({1, 0}, false);
  ASSERT_EQ(quick.size(), 2U);
  EXPECT_EQ(quick[0].power_watts, 90) << "the power of this moment, not a mean";
  EXPECT_FALSE(quick[0].energy_millijoules);
  EXPECT_EQ(quick[0].no_energy_because, "nvmlDeviceGetTotalEnergyConsumption: Some Error");
  EXPECT_EQ(quick[1].power_watts, 70.5);
  EXPECT_EQ(quick[1].energy_millijoules, 5000U);
  EXPECT_FALSE(quick[1].temperature_celsius);
  const auto all = access.gpus->sample({0, 1}, true);
  EXPECT_EQ(all[0].temperature_celsius, 33U);
  EXPECT_EQ(all[0].utilisation_percent, 42U);
  EXPECT_FALSE(all[0].memory_temperature_celsius);
  EXPECT_EQ(all[1].memory_temperature_celsius, 55U);
}

TEST_F(Nvml, SaysWhyAGpuDoesNotAnswer) {
  set_state("gpu GPU-a 1024 0 power=70500\n");
  const GpuAccess access = open();
  set_state("gpu GPU-a 1024 0 power=70500\nfail nvmlDeviceGetHandleByIndex_v2 9\n");
  const auto samples = access.gpus->sample({0}, true);
  EXPECT_FALSE(samples.at(0).power_watts);
  EXPECT_EQ(samples[0].no_power_because, "Driver Not Loaded");
}

TEST_F(Nvml, ReadsTheProcessListOfEveryDriver) {
  for (const char* entry_bytes : {"16", "24", "32"}) {
    set_state(std::string("entry_bytes ") + entry_bytes +
              "\ngpu GPU-a 8192 4096\ngpu GPU-b 8192 0\nprocess 0 101 1024\nprocess 0 102 -\n"
              "process 0 103 2048\n");
    const auto readings = open().gpus->read();
    ASSERT_EQ(readings.at(0).holders.size(), 3U) << entry_bytes;
    EXPECT_EQ(readings[0].holders[0].pid, 101);
    EXPECT_EQ(readings[0].holders[0].bytes, kGiB);
    EXPECT_EQ(readings[0].holders[1].pid, 102);
    EXPECT_FALSE(readings[0].holders[1].bytes);
    EXPECT_EQ(readings[0].holders[2].bytes, 2 * kGiB);
    EXPECT_EQ(readings[0].unexplained_bytes(), kGiB);
    EXPECT_TRUE(readings.at(1).holders.empty());
  }
}

TEST_F(Nvml, ReadsALongProcessList) {
  std::string state = "gpu GPU-a 8192 4096\n";
  for (int pid = 1000; pid < 1300; ++pid) state += "process 0 " + std::to_string(pid) + " 1\n";
  set_state(state);
  EXPECT_EQ(open().gpus->read().at(0).holders.size(), 300U);
}

TEST_F(Nvml, NamesWhoTheHoldersAre) {
  set_state("gpu GPU-a 8192 4096\nprocess 0 101 1024\n");
  add_process(101, std::string("python\0train.py\0", 16));
  const auto readings = open().gpus->read();
  const GpuHolder& holder = readings.at(0).holders.at(0);
  EXPECT_EQ(holder.command, "python train.py");
  EXPECT_EQ(holder.start_ticks, 7777U);
  EXPECT_EQ(holder.user_id, getuid());
  EXPECT_EQ(describe(holder), "python train.py (pid 101, " + holder.user + ", 1.0 GiB)");
}

TEST_F(Nvml, FindsTheWorkersThatNoDriverLists) {
  set_state("gpu GPU-a 8192 4096 minor=3\ngpu GPU-b 8192 4096 minor=0\nprocess 0 101 1024\n");
  add_process(101, "parent");
  add_process(102, "worker");
  add_process(103, "nvidia-smi");
  for (const int pid : {101, 102}) {
    open_file(pid, "/dev/nvidia3");
    open_file(pid, "/dev/nvidiactl");
    open_file(pid, "/dev/nvidia-uvm");
  }
  open_file(103, "/dev/nvidia3");
  open_file(103, "/dev/nvidiactl");
  const auto readings = open().gpus->read();
  ASSERT_EQ(readings.at(0).holders.size(), 2U);
  EXPECT_EQ(readings[0].holders[1].command, "worker");
  EXPECT_FALSE(readings[0].holders[1].listed_by_driver);
  EXPECT_TRUE(readings.at(1).holders.empty());
}

TEST_F(Nvml, NeverCountsThisProcess) {
  set_state("gpu GPU-a 8192 4096\nprocess 0 " + std::to_string(getpid()) + " 1024\n");
  EXPECT_TRUE(open().gpus->read().at(0).holders.empty());
}

TEST_F(Nvml, SeesMemoryThatNobodyIsListedFor) {
  set_state("gpu GPU-a 8192 4096\n");
  EXPECT_EQ(describe_holders(open().gpus->read().at(0)), "4.0 GiB by unlisted processes");
}

TEST_F(Nvml, SeesTheGpusChangeUnderIt) {
  set_state("gpu GPU-a 8192 4096\n");
  const GpuAccess access = open();
  EXPECT_EQ(access.gpus->read().at(0).used_bytes, 4 * kGiB);
  set_state("gpu GPU-a 8192 1024\n");
  EXPECT_EQ(access.gpus->read().at(0).used_bytes, kGiB);
}

TEST_F(Nvml, ThrowsWhatADriverSaysThatFailsLater) {
  set_state("gpu GPU-a 8192 4096\n");
  const GpuAccess access = open();
  set_state("gpu GPU-a 8192 4096\nfail nvmlDeviceGetCount_v2 9\n");
  expect_error(ErrorKind::io, {"Driver Not Loaded", "nvidia-smi"}, [&] { access.gpus->read(); });
}

}  // namespace
}  // namespace plimsoll::meter
