#include "base/host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "base/fd.h"
#include "base/parallel.h"
#include "base/print.h"
#include "base/units.h"

namespace plimsoll {
namespace {

constexpr size_t kMostTextBytes = size_t{64} << 20;  // the largest, of all mounts, have some MiB

// The value of the first line "model name : ..." and the like.
std::string cpu_name_in(const std::string& text) {
  for (const std::string_view key : {"model name", "Model", "cpu model", "uarch"}) {
    size_t at = text.starts_with(key) ? 0 : text.find("\n" + std::string(key));
    if (at == std::string::npos) continue;
    at = text.find(':', at);
    if (at == std::string::npos) continue;
    const size_t begin = text.find_first_not_of(" \t", at + 1);
    if (begin == std::string::npos) continue;
    return printable_line(text.substr(begin, text.find('\n', begin) - begin));
  }
  return {};
}

}  // namespace

Host Host::real() {
  return {.root = "/", .variable = [](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            if (value == nullptr) return {};
            return value;
          }};
}

std::optional<std::string> read_text(const std::filesystem::path& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::string text;
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t count = read(file.get(), part.data(), part.size());
    if (count < 0) return {};  // a pressure file of a kernel that does not keep pressure
    if (count == 0) break;
    text.append(part.data(), static_cast<size_t>(count));
    if (text.size() > kMostTextBytes) return {};
  }
  if (text.empty()) return {};
  return text;
}

std::optional<uint64_t> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return {};
  return value;
}

std::optional<uint64_t> number_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::string_view rest = line.substr(std::min(key.size(), line.size()));
    if (line.starts_with(key) && rest.find_first_of(" \t") == 0) return leading_number(rest);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

MemInfo read_meminfo(const Host& host) {
  const std::string text = read_text(host.root / "proc/meminfo").value_or("");
  const auto bytes_of = [&](std::string_view key) -> std::optional<uint64_t> {
    const auto kib = number_of(text, key);
    return kib ? std::optional(*kib * kKiB) : std::nullopt;
  };
  return {.total_bytes = bytes_of("MemTotal:"),
          .available_bytes = bytes_of("MemAvailable:"),
          .swap_bytes = bytes_of("SwapTotal:")};
}

std::optional<uint64_t> oom_kills(const Host& host) {
  return number_of(read_text(host.root / "proc/vmstat").value_or(""), "oom_kill");
}

std::string boot_id(const Host& host) {
  const std::string text = read_text(host.root / "proc/sys/kernel/random/boot_id").value_or("");
  return text.substr(0, text.find('\n'));
}

uint64_t pid_namespace(const Host& host) {
  struct stat status = {};
  return stat((host.root / "proc/self/ns/pid").c_str(), &status) == 0 ? status.st_ino : 0;
}

std::string cpu_name(const Host& host) {
  return cpu_name_in(read_text(host.root / "proc/cpuinfo").value_or(""));
}

std::optional<double> busy_cpu_seconds(std::string_view stat, double ticks_per_second) {
  std::istringstream line{std::string(stat.substr(0, stat.find('\n')))};
  std::string name;
  double user = 0;
  double nice = 0;
  double system = 0;
  double idle = 0;
  double waiting = 0;
  double irq = 0;
  double softirq = 0;
  double steal = 0;
  line >> name >> user >> nice >> system >> idle >> waiting >> irq >> softirq;
  if (!line || name != "cpu" || ticks_per_second <= 0) return {};
  line >> steal;  // old kernels have none
  return (user + nice + system + irq + softirq + steal) / ticks_per_second;
}

std::optional<double> busy_cpu_seconds(const std::filesystem::path& proc) {
  return busy_cpu_seconds(read_text(proc / "stat").value_or(""),
                          static_cast<double>(sysconf(_SC_CLK_TCK)));
}

std::filesystem::path user_folder(const Host& host, const char* variable, const char* below_home) {
  const auto folder = [&](const char* name) {
    const std::filesystem::path path = host.variable(name).value_or("");
    return path.is_absolute() ? path : std::filesystem::path();
  };
  if (const auto own = folder(variable); !own.empty()) return own / "plimsoll";
  if (const auto home = folder("HOME"); !home.empty()) return home / below_home / "plimsoll";
  return {};
}

std::tm local_time(double seconds_since_1970) {
  constexpr double kYear9999 = 253402300799;
  const bool known = seconds_since_1970 > 0;  // false for NaN
  const auto seconds =
      static_cast<std::time_t>(known ? std::min(seconds_since_1970, kYear9999) : 0.0);
  std::tm local = {};
  ::localtime_r(&seconds, &local);
  return local;
}

std::string host_name() {
  std::array<char, 256> name = {};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

HostFacts host_facts(const Host& host) {
  HostFacts facts{.host = host_name(), .cpus = available_threads()};
  utsname names = {};
  if (uname(&names) == 0) {
    facts.kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  }
  facts.cpu = cpu_name(host);
  facts.ram_bytes = read_meminfo(host).total_bytes.value_or(0);
  return facts;
}

}  // namespace plimsoll
