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
#include <cstring>
#include <thread>

#include "base/child.h"
#include "base/error.h"
#include "base/host.h"
#include "base/json.h"
#include "base/text_file.h"
#include "base/units.h"
#include "experiment/judging.h"
#include "process/launch.h"
#include "process/proc_stat.h"
#include "process/process_ref.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kResultFile = "result.json";
constexpr const char* kLogFile = "training.log";
constexpr int kCannotStart = 125;
constexpr milliseconds kLeftoverGrace{20000};  // longer than exec's own
constexpr milliseconds kKillGrace{30000};      // for the kernel to end killed processes
constexpr milliseconds kLook{50};

// Everything that the child needs, made before the fork. After the fork nothing may allocate:
// another thread may have held the allocator's lock at that moment.
struct Launch {
  std::string program;
  std::vector<std::string> words;
  std::vector<std::string> environment;
  std::string words_file;  // for exec's own messages
  std::string working_folder;
  std::vector<char*> word_pointers;
  std::vector<char*> variable_pointers;

  explicit Launch(const ChildOptions& options)
      : program(options.launcher.empty() ? kThisProgram : options.launcher.front()),
        words(launched(options)),
        environment(environment_with(changes(options))),
        words_file((options.output_folder / "exec.log").string()),
        working_folder(options.working_folder.string()),
        word_pointers(null_ended(words)),
        variable_pointers(null_ended(environment)) {}

 private:
  static std::vector<std::string> launched(const ChildOptions& options) {
    std::vector<std::string> all = exec_words(options);
    if (options.launcher.empty()) return all;
    all.front() = own_program().string();
    all.insert(all.begin(), options.launcher.begin(), options.launcher.end());
    return all;
  }
  static std::vector<std::string> changes(const ChildOptions& options) {
    std::vector<std::string> all;
    for (const auto& [name, value] : options.terms.environment)
      all.push_back(fmt::format("{}{}={}", kCommandVariable, name, value));
    all.push_back(fmt::format("{}={}", kBatchVariable, options.run_folder.string()));
    return all;
  }
};

[[noreturn]] void give_up(const char* what, const char* where) {
  for (const char* text : {what, where, ": ", strerrordesc_np(errno), "\n"}) {
    [[maybe_unused]] const ssize_t count = write(STDERR_FILENO, text, std::strlen(text));
  }
  _exit(kCannotStart);
}

// Runs between fork and exec: only system calls are allowed.
[[noreturn]] void become_exec(const Launch& launch, pid_t driver) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != driver) _exit(kCannotStart);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGINT, SIG_DFL);  // the driver may ignore it, for example as a background job
  const int quiet = open("/dev/null", O_RDWR);
  const int said = open(launch.words_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(quiet, STDIN_FILENO);
  dup2(quiet, STDOUT_FILENO);
  if (said >= 0) dup2(said, STDERR_FILENO);
  syscall(SYS_close_range, 3U, ~0U, 0U);
  if (chdir(launch.working_folder.c_str()) != 0) {
    give_up("cannot enter ", launch.working_folder.c_str());
  }
  execve(launch.program.c_str(), launch.word_pointers.data(), launch.variable_pointers.data());
  give_up("cannot start ", "plimsoll exec");
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

// The end of exec's own messages. Messages of a user's shell may be in the file, too.
std::string last_words(const fs::path& log) {
  constexpr size_t kMostWords = 4096;
  std::string words;
  for_each_line(log, [&](std::string_view line) {
    words += (words.empty() ? "" : "\n") + std::string(line);
    if (words.size() > kMostWords) words.erase(0, words.size() - kMostWords);
  });
  return words;
}

// Changes `end` only if the result can be read completely.
void read_result(const fs::path& file, ChildEnd& end) {
  const std::string text = read_small_file(file, JsonLimits().bytes);
  end = from_json<Json>(text, file.string(), [](const Json& json) {
    const Json& verdict = json.at("verdict");
    ChildEnd read;
    read.exit_code = whole_in<int>(json, "exit_code");
    read.cause = diagnosis::cause_of(verdict.at("cause").get<std::string>());
    read.headline = verdict.at("headline");
    // A batch shows only the headline, so the reason belongs there: "failed with exit code 1 after
    // 2.1 s: RuntimeError: shape mismatch (train.py, line 8)".
    if (const auto said = verdict.find("said"); said != verdict.end()) {
      read.headline += ": " + said->get<std::string>();
    }
    read.evidence = verdict.at("evidence");
    read.next_step = verdict.at("next_step");
    read.ran = json.contains("seconds");
    if (!read.ran) return read;
    read.seconds = json.at("seconds");
    read.cpu_seconds = json.at("cpu_seconds");
    const Json& memory = json.at("memory");
    if (memory.at("peak_bytes").is_number()) {
      read.peak_bytes = whole_in<uint64_t>(memory, "peak_bytes");
    }
    return read;
  });
}

// For an exec that left no result: the command was not started, or its end is unknown.
ChildEnd without_result(const fs::path& output_folder, int wait_status) {
  ChildEnd end;
  end.exit_code = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  const std::string said = last_words(output_folder / "exec.log");
  if (WIFSIGNALED(wait_status)) {
    end.cause = Cause::killed;
    end.headline = fmt::format("plimsoll exec was killed by signal {}", WTERMSIG(wait_status));
    end.evidence = said;
    return end;
  }
  const bool started = fs::exists(output_folder / kLogFile);
  end.cause = started ? Cause::no_result : Cause::not_supervised;
  end.headline = fmt::format(
      "{}: {}",
      started ? fmt::format("exit code {}, but its result could not be written", end.exit_code)
              : "not started",
      said.empty() ? "plimsoll exec gave no reason" : said);
  end.evidence = fmt::format("plimsoll exec ended with exit code {} and left no {}", end.exit_code,
                             kResultFile);
  end.next_step = started ? "df -h: a full disk is the likeliest cause"
                          : "fix what the message names; plimsoll doctor shows what works here";
  return end;
}

}  // namespace

std::vector<std::string> take_command_environment() {
  std::vector<std::string> changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(kCommandVariable))
      changes.emplace_back(text.substr(kCommandVariable.size()));
  }
  for (const std::string& change : changes) {
    const std::string name = change.substr(0, change.find('='));
    unsetenv((std::string(kCommandVariable) + name).c_str());
  }
  return changes;
}

std::vector<std::string> joined_environment(std::vector<std::string> changes,
                                            const std::vector<std::string>& later) {
  const auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  for (const std::string& change : later) {
    std::erase_if(changes, [&](const auto& each) { return name_of(each) == name_of(change); });
    changes.push_back(change);
  }
  return changes;
}

std::optional<std::string> variable_in(const std::vector<std::string>& changes,
                                       const std::string& name) {
  for (const std::string& change : changes) {
    if (change.starts_with(name + "=")) return change.substr(name.size() + 1);
  }
  return Host::real().variable(name);
}

io::Sync sync_of_result(const std::filesystem::path& result) {
  const auto batch = Host::real().variable(kBatchVariable);
  return batch && result.string().starts_with(*batch + "/") ? io::Sync::no : io::Sync::yes;
}

std::vector<std::string> exec_words(const ChildOptions& options) {
  std::vector<std::string> words = {"plimsoll", "exec",
                                    "--log",    (options.output_folder / kLogFile).string(),
                                    "--result", (options.output_folder / kResultFile).string(),
                                    "--grace",  fmt::format("{}s", options.grace_seconds)};
  const auto add = [&](const char* flag, std::string value) {
    words.emplace_back(flag);
    words.push_back(std::move(value));
  };
  const Terms& terms = options.terms;
  if (terms.timeout_seconds) add("--timeout", fmt::format("{:.3f}s", *terms.timeout_seconds));
  if (terms.idle_seconds) add("--idle-timeout", fmt::format("{:.3f}s", *terms.idle_seconds));
  if (terms.memory_bytes) add("--memory", fmt::format("{}", *terms.memory_bytes));
  if (options.gpus.kind != gate::GpuSelection::Kind::unchanged) {
    add("--gpu", text_of(options.gpus));
    if (terms.gpu_free_bytes) {  // exec refuses less than 1 MiB
      add("--gpu-free", fmt::format("{}", std::max(*terms.gpu_free_bytes, kMiB)));
    }
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
  const Launch launch(options);
  const pid_t driver = getpid();
  pid_ = fork();
  if (pid_ < 0) fail_errno("start", "plimsoll exec", errno);
  if (pid_ == 0) become_exec(launch, driver);
  pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));  // for poll(); may fail
}

SupervisedChild::~SupervisedChild() {
  if (wait_status_) return;
  ask_to_end();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool SupervisedChild::ended() {
  int status = 0;
  if (!wait_status_ && waitpid(pid_, &status, WNOHANG) == pid_) wait_status_ = status;
  return wait_status_.has_value();
}

// The child is ours and not yet reaped, so its pid is still its own. A pidfd may be missing: there
// can be too many open files.
void SupervisedChild::ask_to_end() const {
  if (!wait_status_) kill(pid_, SIGTERM);
}

ChildEnd SupervisedChild::end() const {
  ChildEnd end;
  const int status = wait_status_.value_or(0);
  try {
    read_result(output_folder_ / kResultFile, end);
  } catch (const Error&) {  // there is no result, or exec was killed while writing it
    return without_result(output_folder_, status);
  }
  return end;
}

std::optional<uint64_t> gpu_room_needed(const fs::path& attempt) {
  try {
    const fs::path file = attempt / kResultFile;
    return from_json<Json>(read_small_file(file, JsonLimits().bytes), file.string(),
                           [](const Json& json) -> std::optional<uint64_t> {
                             const Json& verdict = json.at("verdict");
                             if (!verdict.contains("gpu_room_bytes")) return std::nullopt;
                             return whole_in<uint64_t>(verdict, "gpu_room_bytes");
                           });
  } catch (const Error&) {
    return std::nullopt;  // no result, or an incomplete one
  }
}

size_t end_leftovers(const fs::path& run_folder) {
  auto left = processes_of(run_folder);
  const size_t found = left.size();
  const auto patience = std::chrono::steady_clock::now() + kLeftoverGrace;
  signal_all(left, SIGTERM);
  while (!left.empty()) {
    std::this_thread::sleep_for(kLook);
    left = processes_of(run_folder);
    const auto now = std::chrono::steady_clock::now();
    if (now > patience) signal_all(left, SIGKILL);
    if (!left.empty() && now > patience + kKillGrace) {
      fail(ErrorKind::io,
           "{} (pid {}), left over from the last driver, was killed but is still stuck in the "
           "kernel; try again when it has ended",
           process::command_line(left.front().pid), left.front().pid);
    }
  }
  return found;
}

}  // namespace plimsoll::experiment
