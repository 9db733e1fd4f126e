// The current state of this machine, and what its kernel log says about OOM kills and segmentation
// faults. It makes some explanations of an exit code more likely than others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host.h"
#include "diagnosis/verdict.h"
#include "memory/limit.h"
#include "memory/usage.h"

namespace plimsoll::diagnosis {

// A message of the kernel log.
struct KernelNote {
  enum class What { oom_in_group, oom_on_host, segfault };
  What what = What::oom_on_host;
  std::string process;   // "python"
  std::string resident;  // "12.0 GiB"; empty if the line does not say
  double seconds_after_boot = 0;
};

std::vector<KernelNote> parse_kernel_log(std::string_view log);

// Nothing if this user may not read it.
std::optional<std::string> read_kernel_log();

struct Space {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t free_files = 0;  // inodes; UINT64_MAX for a file system without a limit
};
std::optional<Space> space_of(const std::filesystem::path& folder);

struct Circumstances {
  memory::Limit limit;
  std::optional<memory::CgroupMemory> group;  // the tightest one, if any has a limit
  std::optional<uint64_t> available_bytes;    // of RAM
  uint64_t swap_bytes = 0;
  std::optional<uint64_t> oom_kills;  // since boot, on the whole machine
  double seconds_since_boot = 0;
  bool kernel_log_readable = false;
  std::vector<KernelNote> kernel_notes;  // oldest first
  std::optional<Space> shared_memory;    // /dev/shm
  std::optional<Space> disk;             // of the current folder
  bool in_slurm = false;
};

Circumstances look_around(const Host& host = Host::real());

// One line each, for messages.
std::string describe_memory(const Circumstances& now);
std::string describe_oom_kills(const Circumstances& now);
std::string describe_segfaults(const Circumstances& now);
std::string describe_shared_memory(const Circumstances& now);
std::string describe_disk(const Circumstances& now);

// The description that is relevant for the cause; empty if none is.
std::string circumstance_of(Cause cause, const Circumstances& now);

}  // namespace plimsoll::diagnosis
