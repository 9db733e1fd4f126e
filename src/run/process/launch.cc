#include "process/launch.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace plimsoll::process {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> found;
  found.reserve(words.size() + 1);
  for (const std::string& word : words) found.push_back(const_cast<char*>(word.c_str()));
  found.push_back(nullptr);
  return found;
}

}  // namespace

void become_command(const Launch& launch, int go_fd, int failure_fd) {
  // Should the keeper and plimsoll be killed at once, the leader at least is told.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  char go = 0;
  ssize_t count = 0;
  do {
    count = read(go_fd, &go, 1);
  } while (count < 0 && errno == EINTR);
  if (count != 1) _exit(125);
  if (launch.output_fd >= 0) dup2(launch.output_fd, STDOUT_FILENO);
  if (launch.error_fd >= 0) dup2(launch.error_fd, STDERR_FILENO);
  std::signal(SIGCHLD, launch.child_signal_ignored ? SIG_IGN : SIG_DFL);
  const auto words = pointers(launch.command);
  const auto variables = pointers(launch.environment);
  sigprocmask(SIG_SETMASK, &launch.signal_mask, nullptr);
  environ = const_cast<char**>(variables.data());  // the command is found by its own PATH, too
  execvp(words.front(), words.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = write(failure_fd, &error, sizeof error);
  _exit(127);
}

std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  const auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const bool changed =
        std::any_of(changes.begin(), changes.end(),
                    [&](const std::string& change) { return name_of(change) == name_of(*entry); });
    if (!changed) result.emplace_back(*entry);
  }
  result.insert(result.end(), changes.begin(), changes.end());
  return result;
}

}  // namespace plimsoll::process
