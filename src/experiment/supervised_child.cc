#include "experiment/supervised_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "memory/host.h"
#include "process/proc_stat.h"
#include "process/process_ref.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char* kSelf = "/proc/self/exe";
constexpr int kCannotStart = 125;
constexpr milliseconds kLeftoverGrace{20000};  // longer than exec's own
constexpr milliseconds kLook{50};

// Between fork and exec: no allocation that could wait for a lock is needed, for we have one
// thread.
[[noreturn]] void become_exec(const ChildOptions& options, const std::vector<std::string>& words,
                              pid_t driver) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != driver) _exit(kCannotStart);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGINT, SIG_DFL);  // as ignored as the driver may have it, for nohup's sake
  const fs::path words_file = options.output_folder / "exec.log";
  const int quiet = open("/dev/null", O_RDWR);
  const int said = open(words_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(quiet, STDIN_FILENO);
  dup2(quiet, STDOUT_FILENO);
  if (said >= 0) dup2(said, STDERR_FILENO);
  syscall(SYS_close_range, 3U, ~0U, 0U);
  if (chdir(options.working_folder.c_str()) != 0) {
    perror(options.working_folder.c_str());
    _exit(kCannotStart);
  }
  for (const auto& [name, value] : options.terms.environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  setenv(kBatchVariable, options.run_folder.c_str(), 1);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(kSelf, arguments.data());
  perror("plimsoll exec");
  _exit(kCannotStart);
}

std::vector<process::ProcessStat> processes_of(const fs::path& run_folder) {
  std::vector<process::ProcessStat> found;
  for (const process::ProcessStat& stat : process::all_processes()) {
    if (!stat.alive() || stat.pid == getpid()) continue;
    if (process::environment_value(stat.pid, kBatchVariable) == run_folder.string()) {
      found.push_back(stat);
    }
  }
  return found;
}

void signal_all(const std::vector<process::ProcessStat>& processes, int number) {
  for (const process::ProcessStat& stat : processes) {
    if (const auto process = process::ProcessRef::open(stat)) process->signal(number);
  }
}

}  // namespace

std::vector<std::string> exec_words(const ChildOptions& options) {
  std::vector<std::string> words = {"plimsoll", "exec",
                                    "--log",    (options.output_folder / "training.log").string(),
                                    "--result", (options.output_folder / "result.json").string(),
                                    "--grace",  fmt::format("{}s", options.grace_seconds)};
  const auto add = [&](const char* flag, std::string value) {
    words.emplace_back(flag);
    words.push_back(std::move(value));
  };
  const Terms& terms = options.terms;
  if (terms.timeout_seconds) add("--timeout", fmt::format("{:.3f}s", *terms.timeout_seconds));
  if (terms.idle_seconds) add("--idle-timeout", fmt::format("{:.3f}s", *terms.idle_seconds));
  if (terms.memory_bytes) add("--memory", fmt::format("{}", *terms.memory_bytes));
  if (!options.gpus.empty()) {
    add("--gpu", options.gpus);
    if (terms.gpu_free_bytes) add("--gpu-free", fmt::format("{}", *terms.gpu_free_bytes));
    if (options.gpu_wait_seconds > 0) {
      add("--gpu-wait", fmt::format("{}s", options.gpu_wait_seconds));
    }
  }
  words.emplace_back("--");
  words.insert(words.end(), options.command.begin(), options.command.end());
  return words;
}

SupervisedChild::SupervisedChild(const ChildOptions& options)
    : output_folder_(options.output_folder) {
  const std::vector<std::string> words = exec_words(options);
  const pid_t driver = getpid();
  pid_ = fork();
  if (pid_ < 0) fail_errno("start", "plimsoll exec", errno);
  if (pid_ == 0) become_exec(options, words, driver);
  pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
}

SupervisedChild::~SupervisedChild() {
  if (wait_status_) return;
  ask_to_end();
  waitpid(pid_, nullptr, 0);
}

bool SupervisedChild::ended() {
  int status = 0;
  if (!wait_status_ && waitpid(pid_, &status, WNOHANG) == pid_) wait_status_ = status;
  return wait_status_.has_value();
}

// Our child that was not waited for: its pid is nobody else's.
void SupervisedChild::ask_to_end() const {
  if (!wait_status_) syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGTERM, nullptr, 0);
}

ChildEnd SupervisedChild::end() const {
  ChildEnd end;
  const int status = wait_status_.value_or(0);
  end.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  const auto text = memory::read_text(output_folder_ / "result.json");
  const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
  if (!json.is_object()) {
    end.cause = WIFSIGNALED(status) ? "killed" : "not_started";
    end.headline = memory::read_text(output_folder_ / "exec.log").value_or("it did not start");
    while (end.headline.ends_with('\n')) end.headline.pop_back();
    return end;
  }
  const auto& verdict = json.at("verdict");
  end.has_result = true;
  end.exit_code = json.at("exit_code");
  end.cause = verdict.at("cause");
  end.headline = verdict.at("headline");
  end.evidence = verdict.at("evidence");
  end.next_step = verdict.at("next_step");
  end.seconds = json.at("seconds");
  end.cpu_seconds = json.at("cpu_seconds");
  const auto& peak = json.at("memory").at("peak_bytes");
  if (peak.is_number()) end.peak_bytes = peak;
  return end;
}

size_t end_leftovers(const fs::path& run_folder) {
  auto left = processes_of(run_folder);
  const size_t found = left.size();
  const auto patience = std::chrono::steady_clock::now() + kLeftoverGrace;
  signal_all(left, SIGTERM);
  while (!left.empty()) {
    std::this_thread::sleep_for(kLook);
    left = processes_of(run_folder);
    if (std::chrono::steady_clock::now() > patience) signal_all(left, SIGKILL);
  }
  return found;
}

}  // namespace plimsoll::experiment
