#include "process/proc_stat.h"

#include <dirent.h>
#include <fmt/format.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <memory>

#include "base/fd.h"
#include "base/host.h"
#include "base/units.h"

namespace plimsoll::process {
namespace {

std::optional<std::string> read_proc(pid_t pid, const char* file) {
  return read_text(fmt::format("{}/{}/{}", proc_folder(), pid, file));
}

bool shows_us(const char* folder) {
  std::array<char, 32> number = {};
  const ssize_t size =
      readlink(fmt::format("{}/self", folder).c_str(), number.data(), number.size() - 1);
  return size > 0 && std::to_string(getpid()) == number.data();
}

// A detached mount that ends with its descriptor. Needs CAP_SYS_ADMIN in this namespace, and Linux
// 5.2.
Fd open_own_proc() {
  const Fd context(static_cast<int>(syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC)));
  if (!context) return {};
  if (syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return {};
  }
  return Fd(static_cast<int>(
      syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC,
              MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)));
}

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \n"));
  text.remove_prefix(word.size());
  return word;
}

template <typename Number>
Number number_in(std::string_view word) {
  Number value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

}  // namespace

const std::string& proc_folder() {
  static Fd own;
  static const std::string folder = []() -> std::string {
    if (shows_us("/proc")) return "/proc";
    own = open_own_proc();
    return own ? fmt::format("/proc/self/fd/{}", own.get()) : "";
  }();
  return folder;
}

std::optional<ProcessStat> parse_stat(std::string_view line) {
  const size_t open = line.find('(');
  const size_t close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  std::array<std::string_view, 22> words;  // fields 3 to 24, numbered as in proc(5)
  std::string_view rest = line.substr(close + 1);
  for (std::string_view& word : words) word = next_word(rest);
  if (words.back().empty()) return {};
  const auto field = [&words](size_t number) { return words.at(number - 3); };
  return ProcessStat{.pid = number_in<pid_t>(line.substr(0, open)),
                     .name = std::string(line.substr(open + 1, close - open - 1)),
                     .state = field(3).front(),
                     .parent = number_in<pid_t>(field(4)),
                     .group = number_in<pid_t>(field(5)),
                     .session = number_in<pid_t>(field(6)),
                     .cpu_ticks = number_in<uint64_t>(field(14)) + number_in<uint64_t>(field(15)),
                     .start_ticks = number_in<uint64_t>(field(22)),
                     .resident_bytes = number_in<uint64_t>(field(24)) *
                                       static_cast<uint64_t>(sysconf(_SC_PAGESIZE))};
}

std::optional<ProcessStat> read_stat(pid_t pid) {
  const auto line = read_proc(pid, "stat");
  return line ? parse_stat(*line) : std::nullopt;
}

std::vector<ProcessStat> all_processes() {
  std::vector<ProcessStat> found;
  const std::unique_ptr<DIR, decltype([](DIR* folder) { closedir(folder); })> proc(
      opendir(proc_folder().c_str()));
  if (!proc) return found;
  while (const dirent* entry = readdir(proc.get())) {  // NOLINT(concurrency-mt-unsafe)
    const auto pid = number_in<pid_t>(static_cast<const char*>(entry->d_name));
    if (pid <= 0) continue;
    if (auto stat = read_stat(pid)) found.push_back(std::move(*stat));
  }
  std::sort(found.begin(), found.end(),
            [](const ProcessStat& a, const ProcessStat& b) { return a.pid < b.pid; });
  return found;
}

std::string command_line(pid_t pid) {
  std::string words = read_proc(pid, "cmdline").value_or("");
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  if (!words.empty()) return words;
  const auto stat = read_stat(pid);
  return stat ? fmt::format("[{}]", stat->name) : "";
}

std::optional<std::string> environment_value(pid_t pid, std::string_view variable) {
  const auto text = read_proc(pid, "environ");
  if (!text) return {};
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    if (entry.starts_with(variable) && entry.substr(variable.size()).starts_with('=')) {
      return std::string(entry.substr(variable.size() + 1));
    }
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
  }
  return {};
}

std::optional<uint64_t> proportional_bytes(pid_t pid) {
  const auto rollup = read_proc(pid, "smaps_rollup");
  const auto kib = rollup ? number_of(*rollup, "Pss:") : std::nullopt;
  if (!kib) return {};
  return *kib * kKiB;
}

const std::string& boot_id() {
  static const std::string id = [] {
    const std::string known = plimsoll::boot_id(Host::real());
    return known.empty() ? "unknown" : known;
  }();
  return id;
}

double ticks_to_seconds(uint64_t ticks) {
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double start_time_of_day(uint64_t start_ticks) {
  timespec since_boot = {};
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return seconds_since_1970() - static_cast<double>(since_boot.tv_sec) +
         ticks_to_seconds(start_ticks);
}

}  // namespace plimsoll::process
