#include "diagnosis/checkup.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"

namespace plimsoll::diagnosis {
namespace {

using process::Level;

std::string_view guarantee_of(Level level) {
  switch (level) {
    case Level::cgroup2:
      return "no process of a command survives: the kernel kills its whole group (cgroup v2)";
    case Level::freezer:
      return "no process of a command survives: its group is frozen, then killed (cgroup v1)";
    case Level::pid_namespace:
      return "no process of a command survives: the kernel ends its pid namespace";
    case Level::sweep:
      return "leftover processes are searched for and ended, without a guarantee (subreaper and "
             "sweep)";
  }
  return "";
}

Check check_kernel(const MachineFacts& facts) {
  if (facts.supervision.pidfds) return {"kernel", Health::good, facts.kernel, ""};
  return {"kernel", Health::bad, facts.kernel + ", without pidfds",
          "a kernel of 5.3 or later; without it exec starts nothing"};
}

Check check_supervision(const MachineFacts& facts) {
  const SupervisionFacts& supervision = facts.supervision;
  const bool is_certain = supervision.in_force != Level::sweep;
  Check check{"supervision", is_certain ? Health::good : Health::limited,
              std::string(guarantee_of(supervision.in_force)), ""};
  for (const LevelFact& level : supervision.levels) {
    if (level.obstacle.empty()) continue;
    check.state += fmt::format("; no {}: {}", name(level.level), level.obstacle);
  }
  if (!is_certain) {
    check.remedy = "systemd-run --user --scope -p Delegate=yes plimsoll exec ..., or root";
  }
  return check;
}

Check check_memory_group(const MachineFacts& facts) {
  const SupervisionFacts& supervision = facts.supervision;
  if (!supervision.memory_group.empty()) {
    return {"--memory of exec", Health::good,
            "enforced by the kernel (" + supervision.memory_group + ")", ""};
  }
  return {"--memory of exec", Health::limited,
          "watched several times a second, not enforced: " + supervision.memory_obstacle,
          "a delegated cgroup: systemd-run --user --scope -p Delegate=yes"};
}

Check check_memory(const MachineFacts& facts) {
  const Circumstances& now = facts.now;
  Check check{"memory", Health::good, describe_memory(now) + "; " + describe_oom_kills(now), ""};
  // Kills by a group's own limit are expected, so they do not count here.
  const bool may_be_the_hosts =
      now.kernel_notes.empty() || std::ranges::any_of(now.kernel_notes, [](const KernelNote& note) {
        return note.what == KernelNote::What::oom_on_host;
      });
  const bool is_short = now.available_bytes && *now.available_bytes < now.limit.bytes / 10;
  if (is_short) {
    check.health = Health::bad;
    check.remedy = "end other programs; the host's OOM killer may act soon";
  } else if (now.oom_kills.value_or(0) > 0 && may_be_the_hosts) {
    check.health = Health::limited;
    check.remedy =
        "plimsoll exec --memory for every command, so that the limits add up to less "
        "than RAM";
  }
  return check;
}

Check check_swap(const MachineFacts& facts) {
  if (facts.now.swap_bytes == 0) return {"swap", Health::good, "none", ""};
  return {"swap", Health::limited, format_bytes(facts.now.swap_bytes),
          "swapoff -a for measurements: a training that swaps is slow without an error"};
}

Check check_gpu(const meter::GpuReading& gpu, const std::string& driver) {
  Check check{fmt::format("GPU {}", gpu.index), Health::good,
              fmt::format("{}, driver {}, {} of {} free", gpu.name, driver,
                          format_bytes(gpu.free_bytes), format_bytes(gpu.total_bytes)),
              ""};
  if (gpu.temperature_celsius) check.state += fmt::format(", {} °C", *gpu.temperature_celsius);
  const std::string holders = describe_holders(gpu);
  if (!holders.empty()) {
    check.health = Health::limited;
    check.state += "; held by " + holders;
    check.remedy =
        "plimsoll orphans --kill ends processes left over from earlier runs; --gpu-free and "
        "--gpu-wait wait for others";
  }
  return check;
}

Check check_gpu_energy(const MachineFacts& facts) {
  const bool counted = std::ranges::all_of(
      facts.gpus, [](const meter::GpuReading& gpu) { return gpu.energy_millijoules.has_value(); });
  if (counted) return {"GPU energy", Health::good, "counted by the device", ""};
  const bool polled = std::ranges::all_of(
      facts.gpus, [](const meter::GpuReading& gpu) { return gpu.power_watts.has_value(); });
  return {"GPU energy", polled ? Health::limited : Health::bad,
          polled ? "no counter; the power can be polled, which misses short peaks"
                 : "neither a counter nor the power can be read",
          "a GPU of Volta or later has a counter"};
}

Check check_cpu_energy(const MachineFacts& facts) {
  if (facts.energy_zones.empty()) {
    return {"CPU energy", Health::limited, "no counters: /sys/class/powercap has no packages",
            "a bare-metal machine, and the module intel_rapl_msr; virtual machines have none"};
  }
  for (const meter::EnergyZone& zone : facts.energy_zones) {
    if (zone.microjoules) continue;
    return {"CPU energy", Health::limited,
            fmt::format("{} cannot be read: {}", zone.name, zone.unreadable_because),
            "as root: chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj, which lets all users "
            "read it until the next boot"};
  }
  return {"CPU energy", Health::good,
          fmt::format("{} counters, of whole packages", facts.energy_zones.size()), ""};
}

Check check_uring(const MachineFacts& facts) {
  if (facts.uring_obstacle.empty()) return {"io_uring", Health::good, "works", ""};
  return {"io_uring", Health::limited, "threads read instead: " + facts.uring_obstacle,
          "sysctl kernel.io_uring_disabled=0, or a container that allows it"};
}

Check check_disk(const MachineFacts& facts) {
  const DiskFacts& disk = facts.disk;
  if (!disk.space) {
    return {"disk", Health::bad, fmt::format("{} cannot be reached", disk.folder.string()), ""};
  }
  Check check{"disk", Health::good,
              fmt::format("{} of {} free here", format_bytes(disk.space->free_bytes),
                          format_bytes(disk.space->total_bytes)),
              ""};
  if (disk.unmeasured_because.empty()) {
    check.state += fmt::format(", writes {}/s, reads {}/s{}",
                               format_bytes(static_cast<uint64_t>(disk.write_bytes_per_second)),
                               format_bytes(static_cast<uint64_t>(disk.read_bytes_per_second)),
                               disk.past_the_cache ? "" : " (from the page cache: no O_DIRECT)");
  } else {
    check.state += ", not measured: " + disk.unmeasured_because;
    check.health = Health::limited;
  }
  const bool is_full = disk.space->free_bytes < kGiB || disk.space->free_files < 1000;
  if (is_full) {
    check.health = Health::bad;
    check.remedy = "remove old checkpoints; df -h and df -i";
  } else if (disk.space->free_bytes < disk.space->total_bytes / 20) {
    check.health = Health::limited;
    check.remedy =
        "keep more than 5 % free: a checkpoint is written completely before the old one is removed";
  }
  return check;
}

Check check_shared_memory(const MachineFacts& facts) {
  Check check{"/dev/shm", Health::good, describe_shared_memory(facts.now), ""};
  const auto& space = facts.now.shared_memory;
  if (!space || space->free_bytes < kGiB) {
    check.health = !space || space->total_bytes < 128 * kMiB ? Health::bad : Health::limited;
    check.remedy =
        "docker run --shm-size 8g, or mount -o remount,size=8G /dev/shm; without it data loader "
        "workers die of a bus error";
  }
  return check;
}

Check check_locked_memory(const MachineFacts& facts) {
  const uint64_t most = facts.most_locked_bytes;
  if (most == RLIM_INFINITY) return {"ulimit -l", Health::good, "unlimited", ""};
  Check check{"ulimit -l", Health::good, format_bytes(most) + " may be locked", ""};
  if (most < kMiB) {
    check.health = Health::limited;
    check.remedy = "ulimit -l unlimited (limits.conf: memlock): pinned memory and RDMA need more";
  }
  return check;
}

Check check_open_files(const MachineFacts& facts) {
  Check check{"ulimit -n", Health::good,
              facts.most_open_files == RLIM_INFINITY
                  ? "unlimited"
                  : fmt::format("{} open files", format_count(facts.most_open_files)),
              ""};
  if (facts.most_open_files < 4096) {
    check.health = Health::limited;
    check.remedy =
        facts.hard_open_files >= 4096
            ? fmt::format("ulimit -n {}: data loader workers need many",
                          facts.hard_open_files == RLIM_INFINITY ? 65536 : facts.hard_open_files)
            : "limits.conf: nofile 65536; data loader workers need many";
  }
  return check;
}

Check check_slurm(const MachineFacts& facts) {
  if (facts.slurm_job) {
    Check check{"Slurm", Health::good, "inside " + slurm::describe(*facts.slurm_job), ""};
    if (!facts.has_scontrol) {
      check.health = Health::limited;
      check.state += "; no scontrol in PATH, as in a container";
      check.remedy =
          "plimsoll slurm exec --requeue-exit CODE, with a code of the site's RequeueExit; or run "
          "plimsoll slurm exec outside of the container";
    }
    return check;
  }
  return {"Slurm", Health::good, facts.has_slurm ? "installed, not inside a job" : "none", ""};
}

}  // namespace

std::string_view name(Health health) {
  switch (health) {
    case Health::good:
      return "good";
    case Health::limited:
      return "limited";
    case Health::bad:
      return "bad";
  }
  return "";
}

std::vector<Check> check_up(const MachineFacts& facts) {
  std::vector<Check> checks = {check_kernel(facts), check_supervision(facts),
                               check_memory_group(facts), check_memory(facts), check_swap(facts)};
  if (!facts.no_gpu_because.empty()) {
    checks.push_back({"GPU", Health::limited, facts.no_gpu_because,
                      "nothing to do without an NVIDIA GPU; otherwise install its driver"});
  } else if (facts.gpus.empty()) {
    checks.push_back({"GPU", Health::limited,
                      fmt::format("driver {}, but no GPU that we may use", facts.driver_version),
                      "docker run --gpus all, or a job that asks for one"});
  }
  for (const meter::GpuReading& gpu : facts.gpus) {
    checks.push_back(check_gpu(gpu, facts.driver_version));
  }
  if (!facts.gpus.empty()) checks.push_back(check_gpu_energy(facts));
  for (const auto check : {check_cpu_energy, check_uring, check_disk, check_shared_memory,
                           check_locked_memory, check_open_files, check_slurm}) {
    checks.push_back(check(facts));
  }
  return checks;
}

std::string describe(const std::vector<Check>& checks, bool colours) {
  constexpr size_t kSubjectColumns = 18;
  std::string text;
  for (const Check& check : checks) {
    const bool is_good = check.health == Health::good;
    const bool is_bad = check.health == Health::bad;
    const char* mark = is_good ? "✓" : is_bad ? "✗" : "!";
    const char* colour = is_good ? "\x1b[32m" : is_bad ? "\x1b[31m" : "\x1b[33m";
    text += fmt::format("{}{}{} {:<{}}{}\n", colours ? colour : "", mark, colours ? "\x1b[0m" : "",
                        check.subject, kSubjectColumns, check.state);
    if (!check.remedy.empty()) {
      text += fmt::format("  {:<{}}→ {}\n", "", kSubjectColumns, check.remedy);
    }
  }
  return text;
}

nlohmann::ordered_json to_json(const std::vector<Check>& checks) {
  auto array = nlohmann::ordered_json::array();
  for (const Check& check : checks) {
    array.push_back({{"subject", check.subject},
                     {"health", name(check.health)},
                     {"state", check.state},
                     {"remedy", check.remedy}});
  }
  return array;
}

}  // namespace plimsoll::diagnosis
