#include "diagnosis/case.h"

// Verdicts for endings by a signal, by plimsoll itself, by the environment (disk, shared memory,
// Slurm, missing dependencies), and by an ordinary exit code.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <variant>

#include "base/units.h"
#include "diagnosis/explain.h"

namespace plimsoll::diagnosis {
namespace {

int exit_code_of(const Case& end) {
  const auto* exited = std::get_if<process::Exited>(&end.ending().leader);
  return exited == nullptr ? -1 : exited->code;
}

bool runs_under_timeout(const process::Ending& ending) {
  return std::ranges::any_of(ending.command, [](const std::string& word) {
    return word == "timeout" || word.ends_with("/timeout") || word.starts_with("timeout ") ||
           word.find(" timeout ") != std::string::npos;
  });
}

Verdict killed_verdict(const Case& end) {
  const int signal = end.signal.value_or(SIGKILL);
  Verdict verdict{
      .cause = Cause::killed,
      .headline =
          fmt::format("killed{} by {}, not sent by plimsoll", end.after(), signal_name(signal)),
      .evidence = joined({how_it_ended(end), peak_memory(end)}),
      .next_step =
          "find the sender: usually a batch system, an administrator, or a script that runs kill "
          "or pkill"};
  if (end.log_only) {
    verdict.headline = "one of its processes was killed: " + signal_name(signal);
    verdict.evidence = output_says(end);
    verdict.next_step = "plimsoll explain 137, which looks for OOM kills";
  } else if (signal == end.ending().handed_on_signal && signal != SIGINT) {
    verdict.headline =
        fmt::format("ended{} by {}, which was sent to plimsoll", end.after(), signal_name(signal));
    verdict.next_step =
        "add a handler to the command if it should react differently to this signal";
  } else if (signal == SIGKILL) {
    verdict.evidence += "; the kernel counted no OOM kill";
    verdict.next_step =
        "find the sender: usually systemd-oomd (journalctl -u systemd-oomd), a batch system (see "
        "its log), or a user or script that runs kill -9";
  } else if (signal == SIGHUP) {
    verdict.next_step = "nohup, tmux or a batch system: a terminal was closed";
  } else if (signal == SIGINT) {
    if (end.ending().typed_interrupt) verdict.cause = Cause::interrupted;
    verdict.headline = fmt::format("interrupted{}: SIGINT", end.after());
    verdict.next_step = end.ending().typed_interrupt ? "" : "nothing, if that was a Ctrl-C";
  }
  return verdict;
}

Verdict broken_pipe(const Case& end) {
  return {
      .cause = Cause::broken_pipe,
      .headline = "broken pipe" + end.after(),
      .evidence = joined({how_it_ended(end), "the reader of its output ended first"}),
      .next_step = "see why the reader (head, tee, grep -q) ended, or write to a file with --log"};
}

Verdict crash(const Case& end, int signal) {
  const bool is_segfault = signal == SIGSEGV;
  Verdict verdict{.cause = is_segfault ? Cause::segfault : Cause::crashed,
                  .headline = fmt::format("crashed{}: {}", end.after(), signal_name(signal)),
                  .evidence = joined({how_it_ended(end), output_says(end), peak_memory(end)}),
                  .next_step =
                      "python -X faulthandler, which prints where; then the versions of "
                      "compiled packages"};
  if (is_segfault) {
    verdict.headline = fmt::format("segmentation fault{}", end.after());
  } else if (signal == SIGILL) {
    verdict.next_step = "a build for this CPU: a package was compiled for a newer one";
  } else if (signal == SIGBUS) {
    verdict.next_step =
        "df /dev/shm and df of its files: a mapped file had no space or was truncated";
  } else if (signal == SIGABRT) {
    verdict.next_step =
        "the last lines of its output: it aborted itself (an assertion, an uncaught C++ "
        "exception, memory corruption)";
  }
  return verdict;
}

Verdict missing(const Case& end) {
  const Finding& sign = *end.sign;
  const std::string what = sign.subject.empty() ? "" : ": " + sign.subject;
  Verdict verdict{.cause = Cause::missing_dependency,
                  .headline = "",
                  .evidence = joined({how_it_ended(end), output_says(end)}),
                  .next_step = ""};
  if (sign.sign == Sign::missing_module) {
    verdict.headline = fmt::format("missing Python module{}{}", what, end.after());
    verdict.next_step =
        "activate the environment it was written for, or pip install " +
        (sign.subject.empty() ? "it" : sign.subject.substr(0, sign.subject.find('.')));
  } else if (sign.sign == Sign::missing_library) {
    verdict.headline = fmt::format("missing or incompatible shared library{}{}", what, end.after());
    verdict.next_step =
        "ldd on the file that needs it; LD_LIBRARY_PATH, or the package's build for this system";
  } else {
    verdict.headline = fmt::format("command not found{}{}", what, end.after());
    verdict.next_step = "check the spelling, activate its environment, or give the full path";
  }
  return verdict;
}

}  // namespace

std::optional<Verdict> judge_cut(const Case& end) {
  const process::Ending& ending = end.ending();
  // A keeper is needed only after a cut, or after the command has ended by itself.
  if (ending.keeper_silent && ending.cut == process::Cut::none) return {};
  if (ending.keeper_given_up && ending.cut == process::Cut::none) {
    return Verdict{
        .cause = Cause::killed,
        .headline = "ended" + end.after() + ": plimsoll's keeper process was stopped repeatedly",
        .evidence = joined({"a program, maybe the command itself, sent SIGSTOP to the process that "
                            "watches the command, so plimsoll ended the command",
                            peak_memory(end)}),
        .next_step = "look for what stops processes: in the command, kill -STOP $PPID"};
  }
  if (ending.keeper_lost && ending.cut == process::Cut::none) {
    return Verdict{
        .cause = Cause::killed,
        .headline = "ended" + end.after() + ": plimsoll's keeper process was killed",
        .evidence = joined({"the process that watches the command was killed, so plimsoll ended "
                            "the command",
                            peak_memory(end)}),
        .next_step = "ask who kills plimsoll's processes; plimsoll explain 137"};
  }
  switch (ending.cut) {
    case process::Cut::none:
      return {};
    case process::Cut::timeout:
      return Verdict{
          .cause = Cause::timed_out,
          .headline = "timed out" + end.after(),
          .evidence = joined({fmt::format("--timeout was {}", duration(ending.cut_after_seconds)),
                              peak_memory(end)}),
          .next_step = "a longer --timeout, or fewer epochs"};
    case process::Cut::idle:
      return Verdict{.cause = Cause::hung,
                     .headline = "hung: ended" + end.after(),
                     .evidence = joined({fmt::format("no output and no CPU or GPU use for {}",
                                                     duration(ending.cut_after_seconds)),
                                         output_says(end), peak_memory(end)}),
                     .next_step =
                         "see the stacks in the log; usual causes are data loader workers and "
                         "collective operations that wait for a dead process"};
    case process::Cut::memory_watch:
      return judge_own_limit(end);
    case process::Cut::interrupted:
      return Verdict{.cause = Cause::interrupted,
                     .headline = fmt::format("interrupted{}: {}", end.after(),
                                             signal_name(ending.interrupting_signal)),
                     .evidence = joined({"plimsoll was asked to stop and ended the command's tree",
                                         peak_memory(end)}),
                     .next_step = ""};
  }
  return {};
}

std::optional<Verdict> judge_signal(const Case& end) {
  const bool by_word = !end.signal && end.says(Sign::process_killed);
  const int signal = by_word ? SIGKILL : end.signal.value_or(0);
  switch (signal) {
    case 0:
      break;
    case SIGPIPE:
      return broken_pipe(end);
    case SIGSEGV:
    case SIGABRT:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGSYS:
    case SIGTRAP:
      return crash(end, signal);
    case SIGXCPU:
      return Verdict{.cause = Cause::timed_out,
                     .headline = "out of CPU time" + end.after(),
                     .evidence = how_it_ended(end) + "; ulimit -t was reached",
                     .next_step = "a higher ulimit -t"};
    case SIGXFSZ:
      return Verdict{.cause = Cause::disk_full,
                     .headline = "a file became too large" + end.after(),
                     .evidence = how_it_ended(end) + "; ulimit -f was reached",
                     .next_step = "a higher ulimit -f"};
    default:
      return killed_verdict(end);
  }
  // Python turns SIGPIPE into an exception.
  const bool is_pipe = end.says(Sign::fallout) && (end.sign->line.starts_with("BrokenPipeError") ||
                                                   end.sign->line.ends_with("Broken pipe"));
  if (is_pipe) return broken_pipe(end);
  if (end.says(Sign::crash)) return crash(end, SIGSEGV);
  return {};
}

std::optional<Verdict> judge_surroundings(const Case& end) {
  if (end.says(Sign::batch_system_time)) {
    return Verdict{
        .cause = Cause::timed_out,
        .headline = "timed out" + end.after() + ": the limit of its Slurm job",
        .evidence = output_says(end),
        .next_step = "a longer --time in the job's script, and checkpoints to resume from"};
  }
  if (end.says(Sign::batch_system_end)) {
    return Verdict{
        .cause = Cause::killed,
        .headline = "ended by Slurm" + end.after(),
        .evidence = output_says(end),
        .next_step = "sacct -j for the state of the job; --requeue restarts it automatically"};
  }
  const bool is_shared_memory = end.says(Sign::shared_memory);
  const bool is_own_doing = !end.signal || end.signal == SIGABRT || end.signal == SIGBUS;
  if (is_own_doing && is_shared_memory) {
    return Verdict{.cause = Cause::shared_memory_full,
                   .headline = "shared memory full" + end.after(),
                   .evidence = joined({how_it_ended(end), output_says(end)}),
                   .next_step = "--num_workers 0 or fewer; in a container a larger --shm-size"};
  }
  if (is_own_doing && end.says(Sign::disk_full)) {
    return Verdict{.cause = Cause::disk_full,
                   .headline = "disk full" + end.after(),
                   .evidence = joined({how_it_ended(end), output_says(end)}),
                   .next_step =
                       "df -h and df -i of where it writes, TMPDIR included; old "
                       "checkpoints are the usual cause"};
  }
  const bool is_missing = end.says(Sign::missing_module) || end.says(Sign::missing_library) ||
                          end.says(Sign::missing_command);
  if (!end.signal && is_missing) return missing(end);
  return {};
}

Verdict judge_exit_code(const Case& end) {
  const int code = exit_code_of(end);
  Verdict verdict{.cause = Cause::failed,
                  .headline = fmt::format("failed with exit code {}{}", code, end.after()),
                  .evidence = joined({output_says(end), peak_memory(end)}),
                  .next_step = "the end of its output says why",
                  .said = decisive_line(end)};
  if (end.log_only) verdict.headline = "failed";
  if (!end.log_only && end.ending().output_tail.empty()) {
    verdict.next_step = "the end of its output; with --log FILE plimsoll reads it too";
  }
  if (code == 0) verdict.headline = fmt::format("failed{}: a pipe hid the exit code", end.after());
  if (end.says(Sign::gpu_error)) {
    verdict.cause = Cause::gpu_failed;
    verdict.headline = "GPU error" + end.after();
    verdict.evidence = joined({how_it_ended(end), output_says(end)});
    verdict.next_step =
        "CUDA_LAUNCH_BLOCKING=1 for the place, NCCL_DEBUG=INFO for collectives; "
        "plimsoll doctor, for the driver";
  } else if (code == 127) {
    verdict.cause = Cause::missing_dependency;
    verdict.headline = "command not found" + end.after() + " (exit code 127)";
    verdict.next_step = "check the spelling, activate its environment, or give the full path";
  } else if (code == 126 || end.says(Sign::not_executable)) {
    verdict.cause = Cause::missing_dependency;
    verdict.headline =
        fmt::format("a command could not be executed{} (exit code {})", end.after(), code);
    verdict.next_step = "chmod +x, or put its interpreter before it";
  } else if (code == 124 && runs_under_timeout(end.ending())) {
    verdict.cause = Cause::timed_out;
    verdict.headline = "timed out" + end.after() + ": the `timeout` in the command";
    verdict.next_step = "a longer time for it, or --timeout instead";
  } else if (code == 2 && !end.sign) {
    verdict.next_step = "the end of its output; 2 usually means a wrong command line";
  }
  return verdict;
}

}  // namespace plimsoll::diagnosis
