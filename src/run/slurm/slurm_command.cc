#include "slurm/slurm_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/units.h"

namespace plimsoll::slurm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{30};
constexpr size_t kMostOutput = size_t{1} << 20;

// A file without a name that holds the text; its reader starts at the beginning.
Fd file_with(const std::string& text) {
  Fd file(memfd_create("sbatch", MFD_CLOEXEC));
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

// A job's own variables would be taken for options of the new job. SLURM_CONF stays.
bool belongs_to_this_job(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  return (name.starts_with("SLURM_") && name != "SLURM_CONF") || name.starts_with("SBATCH_") ||
         name == kEarlierRestarts;
}

struct Spawned {
  pid_t pid = 0;
  Fd output;
};

// As posix_spawn() takes them, with a null pointer at the end.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Signals that we block, so as not to be ended by Slurm, are not blocked in the command.
Spawned spawn(const std::vector<std::string>& words, const std::string& input,
              const std::vector<std::string>& environment) {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_errno("make", "a pipe", errno);
  Fd reading(ends[0]);
  const Fd writing(ends[1]);
  const Fd source = file_with(input);
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> variables = pointers_to(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, source.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  Spawned spawned;
  const int error = posix_spawnp(&spawned.pid, words.front().c_str(), &actions, &attributes,
                                 arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) fail_errno("run", words.front(), error);
  spawned.output = std::move(reading);
  return spawned;
}

// Reads until the command closes its output. False if it has not within kPatience.
bool read_all(const Fd& from, std::string& text) {
  const auto deadline = Clock::now() + kPatience;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd ready = {.fd = from.get(), .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
    std::array<char, 4096> block = {};
    const ssize_t count = read(from.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    if (text.size() < kMostOutput) text.append(block.data(), static_cast<size_t>(count));
  }
}

CommandAnswer ask(const std::vector<std::string>& words, const std::string& input,
                  const std::vector<std::string>& environment) {
  CommandAnswer answer;
  try {
    const Spawned spawned = spawn(words, input, environment);
    const bool ended = read_all(spawned.output, answer.output);
    if (!ended) {
      answer.output +=
          fmt::format("{} did not answer within {} s", words.front(), kPatience.count());
      kill(spawned.pid, SIGKILL);  // safe: it is our child and not yet reaped
    }
    int status = 0;
    while (waitpid(spawned.pid, &status, 0) < 0 && errno == EINTR) {
    }
    answer.good = ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  } catch (const Error& error) {
    answer.output = error.what();
  }
  while (!answer.output.empty() && answer.output.back() == '\n') answer.output.pop_back();
  return answer;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

}  // namespace

CommandAnswer ask_slurm(const std::vector<std::string>& words, const std::string& input) {
  return ask(words, input, own_environment());
}

bool has_program(const Host& host, const std::string& name) {
  std::istringstream folders(host.variable("PATH").value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((std::filesystem::path(folder) / name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::optional<JobRecord> read_record(const std::string& job_id) {
  if (!has_program(Host::real(), "scontrol")) return {};
  const CommandAnswer answer = ask_slurm({"scontrol", "show", "job", "--oneliner", job_id});
  return answer.good ? parse_record(answer.output) : std::nullopt;
}

JobAccount read_account(const std::string& job) {
  const bool plain = job.find_first_not_of("0123456789_") == std::string::npos;
  if (!plain) fail(ErrorKind::usage, "--job {}: write it like 1234, or 1234_7 for a task", job);
  const bool has_sacct = has_program(Host::real(), "sacct");
  if (!has_sacct && !has_program(Host::real(), "scontrol")) {
    fail(ErrorKind::io,
         "--job needs sacct or scontrol, and neither is in PATH; look at the job on a machine that "
         "has Slurm, then: plimsoll explain STATE");
  }
  CommandAnswer answer;
  if (has_sacct) answer = ask_slurm(account_command(job));
  if (answer.good) {
    if (const auto account = parse_account(answer.output)) return *account;
  }
  if (const auto record = read_record(job)) return account_of(job, *record);
  fail(ErrorKind::io,
       "Slurm knows no job {}{}; without accounting it forgets a job some minutes after its end",
       job, answer.good || answer.output.empty() ? "" : " (sacct: " + answer.output + ")");
}

CommandAnswer requeue(const std::string& job_id) {
  return ask_slurm({"scontrol", "requeue", job_id});
}

CommandAnswer submit_again(const OwnJob& job, uint64_t memory_bytes) {
  CommandAnswer script = ask_slurm({"scontrol", "write", "batch_script", job.id, "-"});
  if (!script.good) return script;
  std::vector<std::string> environment = own_environment();
  std::erase_if(environment, [](const std::string& entry) { return belongs_to_this_job(entry); });
  environment.push_back(fmt::format("{}={}", kEarlierRestarts, job.restarts + 1));
  std::vector<std::string> words = {"sbatch", "--parsable",
                                    fmt::format("--mem={}M", memory_bytes / kMiB)};
  if (!job.array_task.empty()) words.push_back("--array=" + job.array_task);
  return ask(words, script.output + "\n", environment);
}

std::string submit(const std::string& script) {
  if (!has_program(Host::real(), "sbatch")) {
    fail(ErrorKind::io,
         "--submit needs sbatch, which is not in PATH; without --submit the script is printed");
  }
  const CommandAnswer answer = ask_slurm({"sbatch", "--parsable"}, script);
  if (!answer.good) fail(ErrorKind::io, "sbatch refused the script: {}", answer.output);
  return answer.output;
}

}  // namespace plimsoll::slurm
