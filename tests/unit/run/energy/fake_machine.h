// A machine with known power curves and a clock that the test turns: a powercap tree, /proc/stat
// and NVML's stand-in, all of one moment.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "energy/meter.h"
#include "energy/sources.h"
#include "meter/gpu.h"
#include "temp_folder.h"

namespace plimsoll::energy {

class FakeMachine : public testing::Test {
 protected:
  FakeMachine() {
    setenv("FAKE_NVML_STATE", (root_ / "state").c_str(), 1);
    write_file(root_ / "proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\n");
  }
  ~FakeMachine() override { unsetenv("FAKE_NVML_STATE"); }

  Host host() const {
    return {.root = root_.path(),
            .variable = [](const std::string& name) -> std::optional<std::string> {
              if (name == "PLIMSOLL_NVML") return FAKE_NVML;
              return {};
            }};
  }

  // Joules at any time, of a counter that wraps at `range_microjoules`.
  struct Zone {
    std::string folder;
    uint64_t range_microjoules = 0;
    double first_microjoules = 0;
    std::function<double(double seconds)> joules;
  };
  void add_zone(const std::string& folder, const std::string& name, Zone zone) {
    zone.folder = folder;
    const auto path = root_ / ("sys/class/powercap/" + folder);
    write_file(path / "name", name + "\n");
    write_file(path / "max_energy_range_uj", fmt::format("{}\n", zone.range_microjoules));
    zones_.push_back(std::move(zone));
    set_time(now_);
  }

  void set_time(double now) {
    now_ = now;
    for (const Zone& zone : zones_) {
      const double count = zone.first_microjoules + zone.joules(now) * 1e6;
      const double wrapped = std::fmod(count, static_cast<double>(zone.range_microjoules));
      write_file(root_ / ("sys/class/powercap/" + zone.folder + "/energy_uj"),
                 fmt::format("{}\n", static_cast<uint64_t>(wrapped)));
    }
    write_file(root_ / "state", fmt::format("now {}\n{}", now, gpus_));
    write_file(root_ / "proc/stat",
               fmt::format("cpu  {} 0 0 {} 0 0 0 0 0 0\ncpu0 0 0 0 0\n",
                           static_cast<uint64_t>(100 * (own_cpus_ + other_cpus_) * now),
                           static_cast<uint64_t>(100 * now)));
  }

  Sources sources(const std::vector<std::string>& uuids) {
    set_time(now_);
    Sources sources{.cpu = CpuCounters::open(host(), [](const meter::PowerEvent&) { return Fd(); }),
                    .gpus = nullptr,
                    .devices = {},
                    .no_gpus_because = "there is no GPU",
                    .proc = root_ / "proc",
                    .is_ours = [this](pid_t pid) { return pid == our_pid_; },
                    .own_cpu_seconds = [this] { return own_cpus_ * now_; },
                    .now = [this] { return now_; },
                    .epoch = [this] { return 1'700'000'000 + now_; }};
    if (uuids.empty()) return sources;
    sources.gpus = meter::open_gpus(host()).gpus;
    sources.no_gpus_because.clear();
    for (const auto& gpu : sources.gpus->read_counters()) {
      sources.devices.push_back({.index = gpu.index, .uuid = gpu.uuid, .name = gpu.name});
    }
    return sources;
  }

  // As the recorder's thread would, from now to `end`. `late(now)`: how much too late it comes.
  void measure(Meter& meter, double end, const std::function<double(double)>& late = {}) {
    for (double due = meter.tick(); due < end; due = meter.tick()) {
      set_time(std::min(end, due + (late ? late(due) : 0)));
    }
    set_time(end);
    meter.stop();
  }

  // In memory: every moment of the clock is written to it.
  TempFolder root_{std::filesystem::is_directory("/dev/shm")
                       ? "/dev/shm"
                       : std::filesystem::temp_directory_path()};
  std::vector<Zone> zones_;
  std::string gpus_;
  double now_ = 0;
  double own_cpus_ = 1;
  double other_cpus_ = 0;
  pid_t our_pid_ = 0;
};

// Within half a percent.
inline void expect_near(const std::optional<double>& figure, double truth) {
  ASSERT_TRUE(figure);
  EXPECT_NEAR(*figure, truth, std::abs(truth) * 0.005);
}

}  // namespace plimsoll::energy
