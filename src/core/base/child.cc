#include "base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ChildClock = std::chrono::steady_clock;

constexpr size_t kMostAnswerBytes = size_t{1} << 20;
constexpr const char* kPythonVariable = "PLIMSOLL_PYTHON";

// The options of posix_spawn(), which are freed with it.
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

// Empty if /proc cannot be read.
std::vector<std::string> words_in_proc() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

pid_t spawn_child(const std::vector<std::string>& words, const Environment& environment,
                  const Spawning& spawning) {
  std::fflush(stdout);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, words.front().c_str(), &spawning.files, &spawning.attributes,
                                 null_ended(words).data(), null_ended(environment).data());
  if (error != 0) fail_errno("run", words.front(), error);
  return pid;
}

int wait_for_child(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) fail_errno("wait for", "a program", errno);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// A file without a name that holds the text; its reader starts at the beginning.
Fd file_with(const std::string& text) {
  Fd file(memfd_create("input", MFD_CLOEXEC));
  if (!file) fail_errno("make", "a temporary file", errno);
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_errno("write", "a temporary file", errno);
    done += static_cast<size_t>(count);
  }
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// Reads until the program closes its output. False if it has not by then.
bool read_answer(const Fd& from, const std::optional<ChildClock::time_point>& deadline,
                 std::string& text) {
  std::array<char, 4096> block = {};
  for (;;) {
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - ChildClock::now());
      if (left.count() <= 0) return false;
      pollfd ready = {.fd = from.get(), .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
    }
    const ssize_t count = read(from.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    if (text.size() < kMostAnswerBytes) text.append(block.data(), static_cast<size_t>(count));
  }
}

}  // namespace

Environment own_environment() { return environment_with({}); }

Environment environment_with(const Environment& changes) {
  const auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  Environment all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const bool changed = std::ranges::any_of(
        changes, [&](const std::string& change) { return name_of(change) == name_of(*entry); });
    if (!changed) all.emplace_back(*entry);
  }
  all.insert(all.end(), changes.begin(), changes.end());
  return all;
}

std::vector<char*> null_ended(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int run_child(const ProgramCall& call) {
  Spawning spawning;
  if (!call.output.empty()) {
    posix_spawn_file_actions_addopen(&spawning.files, STDOUT_FILENO, call.output.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&spawning.files, STDOUT_FILENO, STDERR_FILENO);
  }
  return wait_for_child(spawn_child(call.words, call.environment, spawning));
}

ProgramAnswer ask_child(const ProgramQuestion& question) {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_errno("make", "a pipe", errno);
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  const Fd input = question.input ? file_with(*question.input) : Fd();
  Spawning spawning;
  if (input) posix_spawn_file_actions_adddup2(&spawning.files, input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&spawning.files, writing.get(), STDOUT_FILENO);
  if (question.with_errors) {
    posix_spawn_file_actions_adddup2(&spawning.files, writing.get(), STDERR_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&spawning.files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  const pid_t pid = spawn_child(question.words, question.environment, spawning);
  writing = Fd();
  std::optional<ChildClock::time_point> deadline;
  if (question.patience) deadline = ChildClock::now() + *question.patience;
  ProgramAnswer answer;
  answer.in_time = read_answer(reading, deadline, answer.output);
  if (!answer.in_time) kill(pid, SIGKILL);  // safe: it is our child and not yet reaped
  answer.code = wait_for_child(pid);
  return answer;
}

fs::path find_program(const std::string& name, const Host& host) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  std::istringstream folders(host.variable("PATH").value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');) {
    fs::path path = fs::path(folder) / name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

std::string find_python(const std::string& wanted) {
  const std::string name =
      !wanted.empty() ? wanted : Host::real().variable(kPythonVariable).value_or("python3");
  const fs::path found = find_program(name);
  if (found.empty()) {
    fail(ErrorKind::io,
         "there is no {}; install Python (Debian: python3), or name one with --python", name);
  }
  return found.string();
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=/.,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
  return quoted + "'";
}

fs::path own_program() { return fs::read_symlink(kThisProgram); }

std::vector<std::string> own_words() {
  std::vector<std::string> words = words_in_proc();
  if (words.empty()) fail(ErrorKind::io, "cannot read /proc/self/cmdline");
  return words;
}

std::string own_command() {
  std::string command;
  for (const std::string& word : words_in_proc()) {
    command += (command.empty() ? "" : " ") + shell_word(word);
  }
  return command;
}

}  // namespace plimsoll
