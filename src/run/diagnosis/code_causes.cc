#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>

#include "base/units.h"
#include "diagnosis/explain.h"

namespace plimsoll::diagnosis {
namespace {

constexpr int kLastSignal = 64;

}  // namespace

std::string signal_name(int number) {
  const char* name = number > 0 ? sigabbrev_np(number) : nullptr;
  return name == nullptr ? fmt::format("signal {}", number) : fmt::format("SIG{}", name);
}

std::optional<int> signal_behind(int exit_code) {
  if (exit_code > 128 && exit_code <= 128 + kLastSignal) return exit_code - 128;
  // Only signals that launchers are known to pass on: many programs exit with 255 themselves.
  switch (256 - exit_code) {
    case SIGABRT:
    case SIGKILL:
    case SIGSEGV:
    case SIGTERM:
      return 256 - exit_code;
    default:
      return {};
  }
}

std::optional<int> ending_signal(const process::LeaderEnd& end) {
  if (const auto* signaled = std::get_if<process::Signaled>(&end)) return signaled->number;
  if (const auto* exited = std::get_if<process::Exited>(&end)) return signal_behind(exited->code);
  return {};
}

namespace {

using Causes = std::vector<LikelyCause>;

constexpr int kLikely = 50;
constexpr int kPossible = 30;
constexpr int kRare = 10;
constexpr int kProven = 40;     // added if the kernel's log has such a case
constexpr int kSupported = 20;  // added if the machine's state supports it

bool has_note(const Circumstances& now, KernelNote::What what) {
  return std::ranges::any_of(now.kernel_notes,
                             [&](const KernelNote& note) { return note.what == what; });
}

bool is_host_short(const Circumstances& now) {
  return now.available_bytes && *now.available_bytes < 2 * kGiB;
}

// A kill by a group's limit is likelier if this process runs under such a limit.
Causes causes_of_kill(const Circumstances& now) {
  const bool kills_counted = now.oom_kills.value_or(0) > 0;
  int by_limit = now.limit.below_ram() ? kLikely : kRare;
  int by_host = kPossible;
  const bool noted_in_group = has_note(now, KernelNote::What::oom_in_group);
  const bool noted_on_host = has_note(now, KernelNote::What::oom_on_host);
  if (noted_in_group) by_limit += kProven;
  if (noted_on_host) by_host += kProven;
  // If the log has both, the more recent one is likelier.
  const auto last =
      std::find_if(now.kernel_notes.rbegin(), now.kernel_notes.rend(),
                   [](const KernelNote& note) { return note.what != KernelNote::What::segfault; });
  if (noted_in_group && last->what == KernelNote::What::oom_in_group) by_limit += kSupported;
  if (kills_counted && !noted_in_group) by_host += kSupported;
  if (is_host_short(now)) by_host += kSupported;
  const std::string for_certain =
      "plimsoll exec --memory SIZE -- COMMAND, which says who killed it and how much it had used; "
      "a smaller batch, fewer data loader workers";
  const int by_others = kills_counted || now.oom_kills == std::nullopt ? kRare : kLikely;
  Causes causes = {
      {by_limit, "the OOM killer of a memory limit: a cgroup, a container, a batch job",
       describe_memory(now) + "; " + describe_oom_kills(now), for_certain},
      {by_host, "the host's OOM killer, when all of RAM was in use", describe_memory(now),
       "fewer jobs at a time, each under plimsoll exec --memory, so that they fit together"},
      {by_others, "somebody's kill -9: an administrator, a runner's timeout, docker stop", "",
       "ask, or look into the log of whatever started it"},
      {kRare, "systemd-oomd, which ends whole scopes without a kernel message", "",
       "journalctl -u systemd-oomd"}};
  if (now.in_slurm) {
    causes.push_back({kLikely, "Slurm: the job's memory or time limit, or scancel", "",
                      "sacct -j $SLURM_JOB_ID --format=State,ExitCode,MaxRSS,Elapsed"});
  }
  return causes;
}

Causes causes_of_segfault(const Circumstances& now) {
  const int seen = has_note(now, KernelNote::What::segfault) ? kProven : 0;
  return {{kLikely + seen, "a bug in compiled code: a Python package, a driver, a CUDA extension",
           describe_segfaults(now),
           "python -X faulthandler, which prints the Python line; then "
           "its compiled packages one version up or down"},
          {kPossible, "packages compiled against another version of torch, numpy or glibc", "",
           "the same versions as in its requirements, in a fresh environment"},
          {kRare, "a stack that was too small (deep recursion)", "", "ulimit -s unlimited"}};
}

Causes causes_of_bus_error(const Circumstances& now) {
  const bool tight = now.shared_memory && now.shared_memory->free_bytes < kGiB;
  return {{kLikely + (tight ? kSupported : 0), "shared memory that ran full: data loader workers",
           describe_shared_memory(now), "--num_workers 0; in a container --shm-size 8g"},
          {kPossible, "a mapped file that was cut short, or a disk that ran full under it",
           describe_disk(now), ""}};
}

Causes causes_of_signal(int signal, const Circumstances& now) {
  switch (signal) {
    case SIGKILL:
      return causes_of_kill(now);
    case SIGSEGV:
      return causes_of_segfault(now);
    case SIGBUS:
      return causes_of_bus_error(now);
    case SIGABRT:
      return {
          {kLikely, "it aborted itself: an assertion, an uncaught C++ exception, NCCL's watchdog",
           "", "the last lines of its output"},
          {kPossible, "an allocation that was refused (std::bad_alloc)", describe_memory(now),
           "a smaller batch"},
          {kRare, "memory corruption that glibc detected", "", "valgrind, or an older package"}};
    case SIGPIPE:
      return {{kLikely, "the reader of its output ended: head, grep -q, a closed terminal", "",
               "plimsoll exec --log FILE, which needs no reader"},
              {kPossible, "a logger or tee that was killed", describe_disk(now), ""}};
    case SIGTERM:
      return {{kLikely + (now.in_slurm ? -kSupported : 0),
               "somebody asked it to end: kill, systemctl stop, docker stop, a shutdown", "",
               "the log of whatever started it"},
              {now.in_slurm ? kLikely : kRare, "Slurm: a time limit, preemption or scancel", "",
               "sacct -j JOB --format=State,ExitCode,Elapsed,Timelimit"},
              {kPossible, "a runner's timeout", "", "a longer time, and checkpoints"}};
    case SIGINT:
      return {{kLikely, "Ctrl-C, or a script that sent SIGINT", "", ""}};
    case SIGHUP:
      return {{kLikely, "its terminal or ssh connection was closed", "",
               "tmux, nohup or a batch system"}};
    case SIGILL:
      return {{kLikely, "a package compiled for a newer CPU than this one", "",
               "a build for this CPU; lscpu lists what it can do"}};
    case SIGFPE:
      return {
          {kLikely, "an integer division by zero in compiled code", "", "python -X faulthandler"}};
    case SIGXCPU:
      return {{kLikely, "the limit on CPU time", "", "ulimit -t"}};
    case SIGXFSZ:
      return {{kLikely, "the limit on the size of a file", "", "ulimit -f"}};
    case SIGUSR1:
    case SIGUSR2:
      return {
          {kLikely, "a batch system's warning ahead of its time limit (--signal)", "",
           "a handler that writes a checkpoint, or --signal=B:USR1@60 to a script that has one"}};
    default:
      return {{kLikely, "somebody sent it this signal, or it sent it to itself", "", ""}};
  }
}

Causes causes_of_failure(const Circumstances& now) {
  const bool no_room = now.disk && now.disk->free_bytes < kGiB;
  return {{kLikely, "an error of its own, such as a Python exception or CUDA out of memory", "",
           "plimsoll explain LOG, which knows the messages of frameworks"},
          {kRare + (no_room ? kLikely : 0), "a disk that ran full", describe_disk(now), "df -h"}};
}

// The exit codes of plimsoll's own commands; docs/reference/errors.md has the whole table.
std::optional<LikelyCause> cause_of_own_code(int code) {
  const auto cause = [](const char* what, const char* remedy) {
    return LikelyCause{kPossible, std::string("plimsoll itself: ") + what, "", remedy};
  };
  switch (code) {
    case 3:
      return cause("an input file or a checkpoint is corrupt, or not what was expected",
                   "the message, which names the file and the place");
    case 4:
      return cause("--memory is too small for this work; nothing was started",
                   "the smallest possible limit is in the message; plimsoll plan");
    case 5:
      return cause("too little room on the disk", "df -h; --temp-dir or --save-dir elsewhere");
    case 6:
      return cause("the operating system failed to read or write", "the message");
    case 7:
      return cause("the output exists already, or another run is writing it",
                   "--force, or another name");
    case 8:
      return cause("a store that is damaged, of another version, or was changed while it was read",
                   "plimsoll inspect STORE --verify, or import it again");
    case 9:
      return cause("a training was asked to stop and wrote last.pth",
                   "plimsoll train --resume FOLDER");
    case 10:
      return cause("a training's loss became infinite or NaN", "a lower --lr");
    case 11:
      return cause("plimsoll run: some experiments of a batch failed", "plimsoll status RUN");
    case 12:
      return cause("plimsoll run: paused after five failures in a row with the same cause",
                   "plimsoll status RUN, then --resume RUN --retry-failed");
    default:
      return {};
  }
}

Causes causes_of_exit(int code, const Circumstances& now) {
  switch (code) {
    case 0:
      return {{kLikely, "nothing went wrong, as far as the command knows", "",
               "in a pipe only the last command's code counts: set -o pipefail"}};
    case 2:
      return {{kLikely, "a command line it does not understand (argparse, most tools)", "",
               "its --help"},
              {kPossible, "a shell that could not read its script", "", "bash -n SCRIPT"}};
    case 120:
      return {{kLikely, "Python could not write the end of its output: the reader ended", "",
               "plimsoll exec --log FILE, which needs no reader"},
              {kPossible, "a disk that ran full", describe_disk(now), "df -h"}};
    case 121:
      return {{kLikely, "plimsoll exec: it hung, and --idle-timeout ended it", "",
               "plimsoll explain --last; the stacks are in the log"}};
    case 122:
      return {{kLikely, "plimsoll exec: its --memory was too small", describe_memory(now),
               "plimsoll explain --last"}};
    case 124:
      return {{kLikely, "timeout(1) or plimsoll exec --timeout ended it", "",
               "a longer time, and checkpoints"}};
    case 125:
      return {{kLikely,
               "the runner itself failed: plimsoll exec, docker run or timeout could not "
               "start it",
               "", "what the runner printed; plimsoll doctor"}};
    case 126:
      return {{kLikely, "the file exists but is not executable", "", "chmod +x FILE"},
              {kPossible, "its #! line names a missing interpreter, or it is for another CPU", "",
               "head -1 FILE; file FILE"}};
    case 127:
      return {
          {kLikely, "command not found: a misspelling, or an environment that is not active", "",
           "command -v NAME; conda activate, source venv/bin/activate, module load"},
          {kPossible, "a shared library that is missing", "", "ldd FILE"},
          {kRare, "a script with Windows line endings (bash\\r)", "", "sed -i 's/\\r$//' SCRIPT"}};
    case 255:
      return {{kLikely, "ssh, srun or a launcher that lost its connection or its worker", "",
               "its log"},
              {kPossible, "exit(-1) of a program", "", "the end of its output"}};
    default: {
      Causes causes = causes_of_failure(now);
      if (const auto own = cause_of_own_code(code)) causes.push_back(*own);
      return causes;
    }
  }
}

}  // namespace

std::vector<LikelyCause> causes_of(const Code& code, const Circumstances& now) {
  if (code.state) return causes_of_state(*code.state, now);
  if (code.from_slurm && code.signal == kSlurmOutOfMemory) {
    return {{kLikely, "a step of the job was killed because of its memory (OUT_OF_MEMORY in sacct)",
             describe_memory(now),
             "a larger --mem, or a smaller batch; sacct's MaxRSS is a sample "
             "every 30 s and may be far below the peak"}};
  }
  return code.signal ? causes_of_signal(*code.signal, now) : causes_of_exit(code.exit_code, now);
}

}  // namespace plimsoll::diagnosis
