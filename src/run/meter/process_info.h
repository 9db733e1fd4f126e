// Who a process is, from /proc: for messages, and for telling it from another with the same pid.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace plimsoll::meter {

struct ProcessInfo {
  uint64_t start_ticks = 0;  // field 22 of its stat
  uid_t user_id = 0;
  std::string user;
  std::string command;  // at most 80 characters
};

// Nothing where there is no such process (any more). `proc` is /proc, or a test's copy.
std::optional<ProcessInfo> process_info(const std::filesystem::path& proc, pid_t pid);

}  // namespace plimsoll::meter
