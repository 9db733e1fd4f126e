#include "meter/nvml_processes.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace plimsoll::meter {
namespace {

// {u32 pid, u64 bytes}; with two u32 instance ids since driver 450; with a further u64 of protected
// memory in some drivers from 525 on.
constexpr std::array<size_t, 3> kEntrySizes = {24, 32, 16};
constexpr uint64_t kNotAvailable = ~uint64_t{0};

size_t written_bytes(std::span<const std::byte> memory) {
  size_t end = memory.size();
  while (end > 0 && memory[end - 1] == kUnwritten) --end;
  return end;
}

std::vector<ListedProcess> parse(std::span<const std::byte> memory, unsigned count,
                                 size_t entry_bytes) {
  std::vector<ListedProcess> processes;
  for (size_t i = 0; i < count && (i + 1) * entry_bytes <= memory.size(); ++i) {
    uint32_t pid = 0;
    uint64_t bytes = 0;
    std::memcpy(&pid, memory.data() + i * entry_bytes, sizeof pid);
    std::memcpy(&bytes, memory.data() + i * entry_bytes + 8, sizeof bytes);
    const bool known = bytes != kNotAvailable;
    processes.push_back(
        {static_cast<pid_t>(pid), known ? std::optional<uint64_t>(bytes) : std::nullopt});
  }
  return processes;
}

}  // namespace

std::vector<ListedProcess> parse_process_list(std::span<const std::byte> memory, unsigned count,
                                              const std::function<bool(pid_t)>& exists) {
  if (count == 0) return {};
  const size_t written = written_bytes(memory);
  for (const size_t size : kEntrySizes) {
    if (written == size * count) return parse(memory, count, size);
  }
  std::vector<ListedProcess> best;
  int64_t most_existing = -1;
  for (const size_t size : kEntrySizes) {
    auto processes = parse(memory, count, size);
    const int64_t existing = std::count_if(
        processes.begin(), processes.end(),
        [&](const ListedProcess& process) { return process.pid > 0 && exists(process.pid); });
    if (existing > most_existing) {
      most_existing = existing;
      best = std::move(processes);
    }
  }
  return best;
}

}  // namespace plimsoll::meter
