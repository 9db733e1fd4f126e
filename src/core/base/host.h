// What the machine says about itself: the environment, the small text files of the kernel, the
// wall clock, and a few facts to keep beside results. A test replaces environment and files.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

// `root` holds /proc and /sys; `variable` looks up the environment.
struct Host {
  std::filesystem::path root = "/";
  std::function<std::optional<std::string>(const std::string&)> variable;
  static Host real();
};

// All of a kernel file. Nothing if it is missing, empty, larger than 64 MiB or cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& path);

// The number at the start of a text, after blanks: "  17 kB" -> 17.
std::optional<uint64_t> leading_number(std::string_view text);

// The number after a line's first word: "MemTotal:" in "MemTotal:   24684100 kB\n...".
std::optional<uint64_t> number_of(std::string_view text, std::string_view key);

// What /proc/meminfo says of RAM and swap; each empty if it does not.
struct MemInfo {
  std::optional<uint64_t> total_bytes;
  std::optional<uint64_t> available_bytes;  // that programs could get without swapping
  std::optional<uint64_t> swap_bytes;
};
MemInfo read_meminfo(const Host& host = Host::real());

// The kernel's count of processes that it killed for lack of memory, since the machine started;
// nothing if it does not count them.
std::optional<uint64_t> oom_kills(const Host& host = Host::real());

// This start of the machine, as the kernel names it; empty if it does not.
std::string boot_id(const Host& host);
// The number of this process's PID namespace; 0 if it is not known. A pid is only valid within its
// namespace: in a container it means another process.
uint64_t pid_namespace(const Host& host = Host::real());

// "AMD EPYC 7763 64-Core Processor"; empty if unknown.
std::string cpu_name(const Host& host = Host::real());

// CPU seconds of all cores since the machine started, from the text of /proc/stat: everything but
// idling and waiting for a disk. A hypervisor's share counts; guests are within user and nice.
std::optional<double> busy_cpu_seconds(std::string_view stat, double ticks_per_second);
std::optional<double> busy_cpu_seconds(const std::filesystem::path& proc);

// Plimsoll's folder in `variable` (XDG_CACHE_HOME, XDG_STATE_HOME), else in `below_home` of the
// home folder; empty if neither is set. Relative folders are ignored, as the XDG specification
// says.
std::filesystem::path user_folder(const Host& host, const char* variable, const char* below_home);

// The wall clock, for what people and other programs read. Durations inside the program are
// measured with std::chrono::steady_clock, which nobody sets.
inline double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The same clock in this machine's time zone. Times that no calendar has, as in a damaged file,
// become the first or the last one that it has.
std::tm local_time(double seconds_since_1970);

// The name of this machine; empty if it has none.
std::string host_name();

// The machine in a few words, to be kept beside results.
struct HostFacts {
  std::string host;   // as host_name() says
  std::string cpu;    // as cpu_name() says
  unsigned cpus = 0;  // that this process may use
  uint64_t ram_bytes = 0;
  std::string kernel;  // "Linux 6.1.0-18-amd64 x86_64"
};
HostFacts host_facts(const Host& host);

}  // namespace plimsoll
