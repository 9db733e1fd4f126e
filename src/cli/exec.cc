// plimsoll exec: runs any command as a separate process tree, and returns when none of its
// processes is alive.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "base/print.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "diagnosis/result_file.h"
#include "diagnosis/verdict.h"
#include "experiment/supervised_child.h"
#include "gate/gate.h"
#include "io/partial_file.h"
#include "memory/limit.h"
#include "process/own_stream.h"
#include "process/supervisor.h"
#include "process/tree.h"

namespace plimsoll::cli {
namespace {

using diagnosis::Cause;
using diagnosis::Evidence;
using diagnosis::Verdict;

struct ExecOptions {
  std::vector<std::string> command;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint64_t> memory_high_bytes;
  std::optional<double> timeout_seconds;
  std::optional<double> idle_seconds;
  std::optional<double> grace_seconds;
  std::optional<std::filesystem::path> log;
  std::optional<std::filesystem::path> result;
  std::vector<std::string> environment;  // changes to ours, only for the command
  std::string level;
  gate::GpuRequest gpus;
  bool quiet = false;
  std::vector<std::string> stray_words;
};

void say_of_exec(const std::string& text) {
  const std::string line =
      fmt::format("plimsoll exec: {}{}", text, text.ends_with('\n') ? "" : "\n");
  process::write_patiently(STDERR_FILENO, printable(line));
}

process::SuperviseOptions run_options(const ExecOptions& options, gate::GpuUse& gpus) {
  return {.command = options.command,
          .environment = experiment::joined_environment(options.environment, gpus.environment()),
          .memory = {.limit_bytes = options.memory_bytes, .high_bytes = options.memory_high_bytes},
          .timeout_seconds = options.timeout_seconds,
          .idle_seconds = options.idle_seconds,
          .grace_seconds = options.grace_seconds.value_or(process::kDefaultGraceSeconds),
          .log = options.log,
          .level = process::level_named(options.level),
          .patient = Host::real().variable("SLURM_JOB_ID").has_value(),
          .busy_elsewhere = [&gpus] { return gpus.busy(); },
          .say = say_of_exec};
}

void write_results(const ExecOptions& options, const nlohmann::ordered_json& result) {
  diagnosis::write_last_run(result);
  if (!options.result) return;
  try {
    diagnosis::write_result(*options.result, result, experiment::sync_of_result(*options.result));
  } catch (const Error& error) {  // the command has run: its own exit code counts
    say_of_exec(
        fmt::format("cannot write the result to {}: {}", options.result->string(), error.what()));
  }
}

// All errors before the command runs have one exit code, so that they cannot be confused with the
// command's own. The cause in the result tells them apart: not_admitted or not_supervised.
Evidence supervise(const ExecOptions& options) {
  Evidence evidence;
  Cause refusal = Cause::not_supervised;
  try {
    gate::GpuUse gpus(options.gpus,
                      experiment::variable_in(options.environment, "CUDA_VISIBLE_DEVICES"));
    if (const auto in_the_way = gpus.enter()) {
      refusal = Cause::not_admitted;
      fail(ErrorKind::refused, "{}", *in_the_way);
    }
    evidence.ending = process::run_supervised(run_options(options, gpus));
    gpus.leave();
    evidence.gpus_before = gpus.before();
    evidence.gpus_at_end = gpus.at_end();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    const Verdict verdict = diagnosis::judge_refusal(refusal, error.what());
    write_results(options, diagnosis::refused_json(options.command, verdict));
    throw Error(ErrorKind::refused, error.what());
  }
  evidence.machine_limit_bytes = memory::detect_limit().bytes;
  return evidence;
}

// Success is reported only on a terminal: the output that a script collects stays the same as
// without plimsoll.
void print_verdict(const ExecOptions& options, const Verdict& verdict) {
  const bool good = verdict.cause == Cause::success;
  if (options.quiet || (good && isatty(STDERR_FILENO) == 0)) return;
  process::write_patiently(STDERR_FILENO,
                           for_locale(printable(diagnosis::describe(verdict))) + "\n");
}

void exec(ExecOptions& options) {
  if (!options.stray_words.empty() || options.command.empty()) {
    const std::string word = options.stray_words.empty() ? "COMMAND" : options.stray_words.front();
    fail(ErrorKind::usage, "put the command after --: plimsoll exec [OPTIONS] -- {} ...", word);
  }
  if (options.result) io::check_writable("--result", *options.result, /*force=*/true);
  options.environment = experiment::take_command_environment();
  diagnosis::write_last_run(diagnosis::unfinished_json(options.command));
  const Evidence evidence = supervise(options);
  const Verdict verdict = diagnosis::judge(evidence);
  write_results(options,
                diagnosis::exec_json(evidence, verdict));  // first, because a message may block
  print_verdict(options, verdict);
  if (!options.quiet && verdict.cause == Cause::success && evidence.ending.leftovers_ended > 0 &&
      isatty(STDERR_FILENO) == 0) {
    say_of_exec(fmt::format("ended {} that it left running",
                            counted(evidence.ending.leftovers_ended, "process")));
  }
  // A shell that runs us in a loop ends the loop only if its child dies of SIGINT.
  const auto* const killed = std::get_if<process::Signaled>(&evidence.ending.leader);
  if (evidence.ending.typed_interrupt && killed != nullptr && killed->number == SIGINT) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  throw ExitWith{process::exit_code(evidence.ending)};
}

void add_gpu_options(CLI::App& command, ExecOptions& options) {
  constexpr const char* kGpus = "GPUs";
  command
      .add_option_function<std::string>(
          "--gpu",
          [&options](const std::string& text) { options.gpus.gpus = gate::selection_of(text); },
          "the GPUs for it: 0,1 or all or none; default: those it would see without exec")
      ->type_name("LIST")
      ->group(kGpus);
  add_bytes(command, "--gpu-free", options.gpus.free_bytes,
            "start it when each of them has this much free memory")
      ->group(kGpus);
  command
      .add_option_function<std::string>(
          "--gpu-wait",
          [&options](const std::string& text) { options.gpus.wait_seconds = parse_seconds(text); },
          "wait this long for the free memory")
      ->type_name("TIME")
      ->group(kGpus);
}

}  // namespace

void add_exec(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* command = app.add_subcommand("exec", "Run a command and end all its processes with it");
  auto options = std::make_shared<ExecOptions>();
  options->command = words;
  command->add_option("COMMAND", options->stray_words, "after --: the command and its arguments");
  add_bytes(*command, "--memory", options->memory_bytes,
            "limit of all its processes together, as 8G; it is ended when they use more")
      ->group(kResources);
  add_bytes(*command, "--memory-high", options->memory_high_bytes,
            "slow it down when they use more; needs cgroup v2")
      ->group(kResources);
  add_duration(*command, "--timeout", options->timeout_seconds, "end it after this time")
      ->group(kResources);
  add_duration(*command, "--idle-timeout", options->idle_seconds,
               "end it after this time without output, CPU or GPU use: a hang")
      ->group(kResources);
  add_duration(*command, "--grace", options->grace_seconds,
               "from the request to end (SIGTERM) to the kill (SIGKILL)")
      ->default_str("10s")
      ->group(kResources);
  add_gpu_options(*command, *options);
  command
      ->add_option("--level", options->level,
                   "how its processes are held together; default: the strongest that works here")
      ->check(CLI::IsMember({"cgroup2", "freezer", "pidns", "sweep"}))
      ->group(kResources);
  command->add_option("--log", options->log, "append all output to this file, and show it")
      ->type_name("FILE")
      ->group(kOutput);
  command->add_option("--result", options->result, "write how it ended to this file, as JSON")
      ->type_name("FILE")
      ->group(kOutput);
  command->add_flag("-q,--quiet", options->quiet, "do not print how it ended")->group(kOutput);
  command->footer(R"(Exit code: the command's own, 128 + N if signal N ended it, or
  121  it hung (--idle-timeout)    124  --timeout
  122  its --memory was too small  125  it could not be supervised and was not started
  126  it cannot be executed       127  it was not found
docs/reference/supervision.md has the guarantees and how they work.

Examples:
  plimsoll exec -- python train.py --epochs 10
  plimsoll exec --gpu 0 --gpu-free 8G --gpu-wait 10m -- python train.py
  plimsoll exec --memory 16G --timeout 2h --log run.log -- bash -c 'python train.py | tee out')");
  command->callback([options] { exec(*options); });
}

}  // namespace plimsoll::cli
