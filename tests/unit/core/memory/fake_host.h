// A machine of 64 GiB whose /proc, /sys and environment are a test's to write.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/host.h"
#include "temp_folder.h"

namespace plimsoll::memory {

inline const std::string kV2Mount =
    "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
inline const std::string kV1Mounts =
    "30 24 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755\n"
    "31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n"
    "35 30 0:31 / /sys/fs/cgroup/memory rw,nosuid shared:14 - cgroup cgroup rw,memory\n";
inline const std::string kUnifiedMount =
    "36 30 0:32 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

class FakeHost {
 public:
  FakeHost() { put("proc/meminfo", "MemTotal:       67108864 kB\nMemFree:  1000 kB\n"); }

  void put(const std::string& path, const std::string& text) { write_file(root_ / path, text); }
  void put_bytes(const std::string& path, uint64_t bytes) {
    put(path, std::to_string(bytes) + "\n");
  }
  void put_cgroup(const std::string& mountinfo, const std::string& cgroup) {
    put("proc/self/mountinfo", mountinfo);
    put("proc/self/cgroup", cgroup);
  }

  // Must not outlive this.
  Host host() const {
    return {.root = root_.path(),
            .variable = [this](const std::string& name) -> std::optional<std::string> {
              const auto entry = variables_.find(name);
              if (entry == variables_.end()) return {};
              return entry->second;
            }};
  }

 protected:
  TempFolder root_;
  std::map<std::string, std::string> variables_;
};

}  // namespace plimsoll::memory
