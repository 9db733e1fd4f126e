// What the kernel's text files say: the energy counters under powercap and perf, /proc's files of
// processes and of the machine. Every file of a made-up machine holds the same bytes.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "energy/counter.h"
#include "energy/sources.h"
#include "memory/limit.h"
#include "meter/cpu_power.h"
#include "meter/gpu_processes.h"
#include "only_errors.h"
#include "process/proc_stat.h"
#include "process/registry.h"

namespace {

namespace fs = std::filesystem;
using namespace plimsoll;

// Gone with the process.
class MadeUpMachine {
 public:
  MadeUpMachine() {
    const fs::path memory = "/dev/shm";
    const bool fast = ::access(memory.c_str(), W_OK) == 0;
    std::string name = ((fast ? memory : fs::temp_directory_path()) / "plimsoll_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    host_.root = name;
    host_.variable = [](const std::string&) { return std::nullopt; };
    for (const char* file : kFiles) {
      fs::create_directories((host_.root / file).parent_path());
      fs::create_symlink(host_.root / kSaid, host_.root / file);
    }
    // Zones are known by their names.
    std::ofstream(host_.root / "sys/class/powercap/intel-rapl:0/name") << "package-0\n";
  }
  MadeUpMachine(const MadeUpMachine&) = delete;
  MadeUpMachine& operator=(const MadeUpMachine&) = delete;
  ~MadeUpMachine() {
    std::error_code ignored;
    fs::remove_all(host_.root, ignored);
  }

  const Host& says(std::string_view text) const {
    std::ofstream(host_.root / kSaid, std::ios::binary) << text;
    return host_;
  }

 private:
  static constexpr const char* kSaid = "said";
  static constexpr std::array kFiles = {
      "sys/class/powercap/intel-rapl:0/energy_uj",
      "sys/class/powercap/intel-rapl:0/max_energy_range_uj",
      "sys/bus/event_source/devices/power/type",
      "sys/bus/event_source/devices/power/cpumask",
      "sys/bus/event_source/devices/power/events/energy-pkg",
      "sys/bus/event_source/devices/power/events/energy-pkg.scale",
      "proc/stat",
      "proc/meminfo",
      "proc/self/cgroup",
      "proc/self/mountinfo",
      "proc/7/stat",
      "proc/7/cmdline"};
  Host host_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const MadeUpMachine machine;
  const std::string_view text = text_of_input(data, size);
  only_errors([&] {
    const Host& host = machine.says(text);
    meter::energy_zones(host);
    meter::power_events(host);
    auto counters = energy::CpuCounters::open(host, [](const auto&) { return Fd(); });
    counters.read(0);
    busy_cpu_seconds(host.root / "proc");
    meter::process_info(host.root / "proc", 7);
    process::parse_stat(text);
    process::supervisor_of(text);
  });
  only_errors([&] { memory::detect_limit(machine.says(text)); });
  return 0;
}
