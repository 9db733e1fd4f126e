#include "cli/train_seeds.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/interrupt.h"
#include "base/print.h"
#include "cli/command.h"
#include "cli/training_view.h"
#include "launch/save_folder.h"
#include "launch/training_record.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kLookMilliseconds = 200;

// Options that each training gets anew, all with a value.
constexpr std::array kOwnOptions = {"--seeds", "--seed", "--save-dir", "--save_dir", "--resume"};

std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (words.size() < 2) fail(ErrorKind::io, "cannot read /proc/self/cmdline");
  return words;
}

// The command line without the options above.
std::vector<std::string> shared_words() {
  std::vector<std::string> words;
  bool skip_value = false;
  for (const std::string& word : own_command_line()) {
    if (skip_value) {
      skip_value = false;
      continue;
    }
    const std::string option = word.substr(0, word.find('='));
    const bool own =
        std::ranges::any_of(kOwnOptions, [&](const char* one) { return option == one; });
    if (own) {
      skip_value = option.size() == word.size();
    } else {
      words.push_back(word);
    }
  }
  return words;
}

// After fork: only calls that are safe there. The training has a process group of its own, so that
// Ctrl-C reaches it once, through us; it ends with us.
[[noreturn]] void become_training(char* const* words, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(128 + SIGTERM);
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv("/proc/self/exe", words);
  _exit(127);
}

// Runs the program again with these words and returns its exit code. An interrupt is passed on.
int run_training(std::vector<std::string> words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::fflush(stdout);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail_errno("start", "a training", errno);
  if (child == 0) become_training(pointers.data(), parent);
  const Fd handle(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  int passed_on = 0;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    pollfd event{.fd = handle.get(), .events = POLLIN};
    poll(&event, 1, kLookMilliseconds);
    const int signal = pending_interrupt();
    if (signal == 0 || signal == passed_on) continue;
    passed_on = signal;
    syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0);
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Runs of other seeds would be counted with the new ones.
void remove_other_seeds(const SeedsOptions& options) {
  std::set<fs::path> trained_now = {options.folder};
  for (uint64_t i = 0; i < options.count; ++i) {
    trained_now.insert(launch::seed_folder(options.folder, options.first + i));
  }
  for (const fs::path& folder : launch::training_folders(options.folder)) {
    if (!trained_now.contains(folder)) fs::remove_all(folder);
  }
}

}  // namespace

void train_seeds(const SeedsOptions& options) {
  for (uint64_t i = 0; i < options.count && !options.resume; ++i) {
    launch::check_new_run(launch::seed_folder(options.folder, options.first + i), options.force);
  }
  if (options.force) remove_other_seeds(options);
  for (uint64_t i = 0; i < options.count; ++i) {
    throw_if_interrupted();
    const uint64_t seed = options.first + i;
    const fs::path folder = launch::seed_folder(options.folder, seed);
    print("seed {} ({} of {}): {}\n", seed, i + 1, options.count, folder.string());
    std::vector<std::string> words = shared_words();
    const bool begun = options.resume && fs::exists(folder / "last.pth");
    words.insert(words.end(), {"--seed", fmt::format("{}", seed), begun ? "--resume" : "--save-dir",
                               folder.string()});
    const int code = run_training(std::move(words));
    if (code != 0) {
      print_to(stderr, "seed {} ended with exit code {}", seed, code);
      if (fs::exists(folder / "last.pth") && !options.resume) {
        print_to(stderr, "; the same command with --resume {} instead of --save-dir continues",
                 options.folder.string());
      }
      print_to(stderr, "\n");
      throw ExitWith{code};
    }
  }
  print("\n");
  print_training(options.folder);
}

}  // namespace plimsoll::cli
