#include "process/level.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "process/tree_group.h"

namespace plimsoll::process {
namespace {

constexpr std::array<std::string_view, kLevels.size()> kNames = {"cgroup2", "freezer", "pidns",
                                                                 "sweep"};  // in kLevels' order

// Tries it in a child process, since a process cannot leave a new namespace. Returns an errno, or 0
// if it works.
int try_namespaces(int flags) {
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) _exit(unshare(flags) == 0 ? 0 : errno);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

std::string obstacle_to_pid_namespace() {
  if (try_namespaces(CLONE_NEWPID | CLONE_NEWNS) == 0) return {};
  const int error = try_namespaces(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS);
  if (error == 0) return {};
  return fmt::format("the kernel does not allow this user to make namespaces: {}",
                     std::strerror(error));
}

}  // namespace

std::string_view name(Level level) { return kNames.at(static_cast<size_t>(level)); }

std::optional<Level> level_named(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return {};
  return kLevels.at(static_cast<size_t>(found - kNames.begin()));
}

std::string obstacle(Level level, const Host& host) {
  switch (level) {
    case Level::cgroup2:
      return unified_base(host).obstacle;
    case Level::freezer:
      return freezer_base(host).obstacle;
    case Level::pid_namespace:
      return obstacle_to_pid_namespace();
    case Level::sweep:
      return {};
  }
  return {};
}

Level strongest_level(const Host& host) {
  if (obstacle(Level::cgroup2, host).empty()) return Level::cgroup2;
  if (obstacle(Level::freezer, host).empty()) return Level::freezer;
  if (try_namespaces(CLONE_NEWPID | CLONE_NEWNS) == 0) return Level::pid_namespace;
  return Level::sweep;
}

}  // namespace plimsoll::process
