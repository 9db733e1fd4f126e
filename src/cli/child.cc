#include "cli/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <sstream>

#include "base/error.h"
#include "base/fd.h"
#include "base/host.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostAnswerBytes = size_t{1} << 20;
constexpr const char* kPythonVariable = "PLIMSOLL_PYTHON";

// What posix_spawn() needs to know, freed with it.
struct Spawning {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  Spawning() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;
  ~Spawning() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> ended_by_null(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : variables) replaced |= text.starts_with(name + "=");
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

// Returns the error number of posix_spawnp.
int start_child(const ProgramCall& options, const Spawning& spawning, pid_t& pid) {
  std::vector<std::string> words = options.words;
  std::vector<std::string> environment = environment_with(options.variables);
  std::fflush(stdout);
  return posix_spawnp(&pid, words.front().c_str(), &spawning.files, &spawning.attributes,
                      ended_by_null(words).data(), ended_by_null(environment).data());
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) fail_errno("wait for", "a program", errno);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int run_child(const ProgramCall& options) {
  Spawning spawning;
  if (!options.output.empty()) {
    posix_spawn_file_actions_addopen(&spawning.files, STDOUT_FILENO, options.output.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&spawning.files, STDOUT_FILENO, STDERR_FILENO);
  }
  pid_t pid = 0;
  const int error = start_child(options, spawning, pid);
  if (error != 0) fail_errno("run", options.words.front(), error);
  return wait_for(pid);
}

std::optional<std::string> ask_child(const std::vector<std::string>& words) {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_errno("make", "a pipe", errno);
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  Spawning spawning;
  posix_spawn_file_actions_adddup2(&spawning.files, writing.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&spawning.files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  if (start_child({.words = words}, spawning, pid) != 0) return std::nullopt;
  writing = Fd();
  std::string answer;
  std::array<char, 4096> block = {};
  for (;;) {
    const ssize_t count = read(reading.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (answer.size() < kMostAnswerBytes) answer.append(block.data(), static_cast<size_t>(count));
  }
  if (wait_for(pid) != 0) return std::nullopt;
  return answer;
}

fs::path find_on_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  std::istringstream folders(Host::real().variable("PATH").value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path path = fs::path(folder) / name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

void add_python(CLI::App& command, std::string& python) {
  command
      .add_option("--python", python,
                  "the Python interpreter, by its name on the PATH or by its path")
      ->type_name("PYTHON")
      ->default_str("python3");
}

std::string find_python(const std::string& wanted) {
  const std::string name =
      !wanted.empty() ? wanted : Host::real().variable(kPythonVariable).value_or("python3");
  const fs::path found = find_on_path(name);
  if (found.empty()) {
    fail(ErrorKind::io,
         "there is no {}; install Python (Debian: python3), or name one with --python", name);
  }
  return found.string();
}

}  // namespace plimsoll::cli
