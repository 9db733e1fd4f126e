// The kernel log's messages about OOM kills and segmentation faults.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::diagnosis {

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

}  // namespace plimsoll::diagnosis
