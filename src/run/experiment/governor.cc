#include "experiment/governor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>

#include "base/host.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;
using CpuSettings = std::map<fs::path, std::string>;

CpuSettings settings_now(const fs::path& cpus) {
  CpuSettings now;
  std::error_code none;
  for (const auto& cpu : fs::directory_iterator(cpus, none)) {
    const fs::path file = cpu.path() / "cpufreq/scaling_governor";
    if (auto text = read_text(file)) now[file] = *text;
  }
  return now;
}

bool write_text(const fs::path& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text << std::flush;
  return static_cast<bool>(stream);
}

// Waits until the other end of `alive` is closed, which happens when the driver ends. Then restores
// the governors.
[[noreturn]] void guard(const Fd& alive, const CpuSettings& before) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  char nothing = 0;
  while (read(alive.get(), &nothing, 1) < 0 && errno == EINTR) {
  }
  for (const auto& [file, text] : before) write_text(file, text);
  _exit(0);
}

}  // namespace

Governor::Governor(const std::string& name, const fs::path& cpus) {
  if (name.empty()) return;
  const CpuSettings before = settings_now(cpus);
  if (before.empty()) {
    obstacle_ = fmt::format("the governor {} cannot be set: this machine has no cpufreq", name);
    return;
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const Fd guarded(ends[0]);
  alive_ = Fd(ends[1]);
  guard_ = fork();
  if (guard_ == 0) {
    alive_ = Fd();
    guard(guarded, before);
  }
  for (const auto& [file, text] : before) {
    if (write_text(file, name)) continue;
    obstacle_ = fmt::format(
        "the governor {} cannot be set: {} cannot be written; it needs root, and a governor that "
        "this CPU supports",
        name, file.string());
    return;
  }
}

Governor::~Governor() {
  alive_ = Fd();
  while (guard_ > 0 && waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace plimsoll::experiment
