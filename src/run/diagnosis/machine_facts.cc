#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "base/child.h"
#include "base/error.h"
#include "base/units.h"
#include "diagnosis/checkup.h"
#include "io/file.h"
#include "io/random_read.h"
#include "io/temp_file.h"
#include "memory/buffer.h"
#include "memory/ledger.h"
#include "meter/gpu.h"
#include "process/process_ref.h"
#include "process/tree_group.h"
#include "slurm/slurm_command.h"

namespace plimsoll::diagnosis {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kMostDiskBytes = 64 * kMiB;
constexpr double kDiskSeconds = 0.25;  // for writing, and again for reading

std::string kernel_name() {
  utsname about{};
  if (uname(&about) != 0) return "unknown";
  return fmt::format("{} {} {}", static_cast<const char*>(about.sysname),
                     static_cast<const char*>(about.release),
                     static_cast<const char*>(about.machine));
}

SupervisionFacts supervision_facts(const Host& host) {
  SupervisionFacts facts{.pidfds = process::pidfds_work()};
  for (const process::Level level : process::kLevels) {
    facts.levels.push_back({level, process::obstacle(level, host)});
  }
  facts.in_force = process::strongest_level(host);
  const process::MemoryBase memory = process::memory_base(host);
  facts.memory_obstacle = memory.obstacle;
  if (memory.obstacle.empty()) facts.memory_group = name(memory.version);
  return facts;
}

struct Rate {
  double bytes_per_second = 0;
  uint64_t bytes = 0;
};

// Calls transfer(offset) for blocks of io::kStreamBytes, in order, until the time or `most_bytes`
// is used up.
template <typename Transfer>
Rate rate_of(uint64_t most_bytes, const Transfer& transfer) {
  const auto start = Clock::now();
  Rate rate;
  double seconds = 0;
  while (rate.bytes < most_bytes && seconds < kDiskSeconds) {
    transfer(rate.bytes);
    rate.bytes += io::kStreamBytes;
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  rate.bytes_per_second = seconds > 0 ? static_cast<double>(rate.bytes) / seconds : 0;
  return rate;
}

void measure(DiskFacts& disk, memory::Ledger& ledger) {
  if (disk.space && disk.space->free_bytes < 4 * kMostDiskBytes) {
    disk.unmeasured_because = "it is nearly full";
    return;
  }
  try {
    io::TempFile file({.folder = disk.folder});
    const memory::Buffer<std::byte> block(ledger, "disk", io::kStreamBytes);
    std::ranges::fill(block.span(), std::byte{0x5A});
    const Rate written =
        rate_of(kMostDiskBytes, [&](uint64_t offset) { file.write(block.span(), offset); });
    const Rate read =
        rate_of(written.bytes, [&](uint64_t offset) { file.read(block.span(), offset); });
    disk.write_bytes_per_second = written.bytes_per_second;
    disk.read_bytes_per_second = read.bytes_per_second;
    disk.past_the_cache = io::open_uncached(file.path(), 0).direct;
  } catch (const Error& error) {
    disk.unmeasured_because = error.what();
  }
}

std::string uring_obstacle(memory::Ledger& ledger) {
  try {
    io::ReadQueue::open(ledger, io::ReadMethod::uring, 8);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

void read_gpus(MachineFacts& facts, const Host& host) {
  const meter::GpuAccess access = meter::open_gpus(host);
  facts.no_gpu_because = access.missing_because;
  if (!access.gpus) return;
  facts.driver_version = access.gpus->driver_version();
  try {
    facts.gpus = access.gpus->read();
  } catch (const Error& error) {
    facts.no_gpu_because = error.what();
  }
}

}  // namespace

MachineFacts examine(const fs::path& folder, const Host& host) {
  memory::Ledger ledger(64 * kMiB);
  MachineFacts facts{
      .kernel = kernel_name(), .supervision = supervision_facts(host), .now = look_around(host)};
  read_gpus(facts, host);
  facts.energy_zones = meter::energy_zones(host);
  facts.uring_obstacle = uring_obstacle(ledger);
  facts.disk = {.folder = folder, .space = space_of(folder)};
  measure(facts.disk, ledger);
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) facts.most_locked_bytes = limit.rlim_cur;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    facts.most_open_files = limit.rlim_cur;
    facts.hard_open_files = limit.rlim_max;
  }
  facts.slurm_job = slurm::own_job(host);
  facts.has_slurm = !find_program("srun", host).empty();
  facts.has_scontrol = !find_program("scontrol", host).empty();
  return facts;
}

}  // namespace plimsoll::diagnosis
