// The processes on the GPUs: who a process is, which processes have a GPU's device file open, and
// which ones the driver lists.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace plimsoll::meter {

// From /proc: for messages, and to tell the process from another one with the same pid.
struct ProcessInfo {
  uint64_t start_ticks = 0;  // field 22 of its stat
  uid_t user_id = 0;
  std::string user;
  std::string command;  // at most 80 characters
};

// Nothing if there is no such process (any more). `proc` is /proc, or a test's copy.
std::optional<ProcessInfo> process_info(const std::filesystem::path& proc, pid_t pid);

// A process that has device files of GPUs open. Data loader workers that were forked after CUDA had
// started keep a GPU's memory this way, and no driver lists them.
struct DeviceUser {
  pid_t pid = 0;
  std::vector<unsigned> minors;  // of /dev/nvidia0, /dev/nvidia1, ...
};

// The processes that have a GPU and the device for CUDA's memory (/dev/nvidia-uvm) open. Monitors
// do not open the second one. Only root sees the files of other users' processes.
std::vector<DeviceUser> device_users(const std::filesystem::path& proc);

// A process in the list that NVML writes.
struct ListedProcess {
  pid_t pid = 0;
  std::optional<uint64_t> bytes;
  bool operator==(const ListedProcess&) const = default;
};

constexpr size_t kLargestEntryBytes = 64;  // twice the largest one known
constexpr std::byte kUnwritten{0xA5};      // what the memory is filled with before the call

// Parses the list. Drivers use entries of different sizes under one function name. So the caller
// fills more memory than needed with kUnwritten, and the written part shows the size. If it does
// not, `exists` decides: with the right size, the pids exist. `count`: entries, as the driver says.
std::vector<ListedProcess> parse_process_list(std::span<const std::byte> memory, unsigned count,
                                              const std::function<bool(pid_t)>& exists);

}  // namespace plimsoll::meter
