// The list of processes as NVML writes it. The size of an entry changed between drivers without a
// new name for the function, so the driver writes into more memory than it asks for, and how far it
// wrote tells the size.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll::meter {

struct ListedProcess {
  pid_t pid = 0;
  std::optional<uint64_t> bytes;
  bool operator==(const ListedProcess&) const = default;
};

constexpr size_t kLargestEntryBytes = 64;  // twice the largest one known
constexpr std::byte kUnwritten{0xA5};      // what the memory is filled with before the call

// `memory` as a driver left it that says it wrote `count` entries, into memory filled with
// kUnwritten. `exists` decides where the extent does not: the pids of the right size exist.
std::vector<ListedProcess> parse_process_list(std::span<const std::byte> memory, unsigned count,
                                              const std::function<bool(pid_t)>& exists);

}  // namespace plimsoll::meter
