// plimsoll slurm exec: runs the command of a Slurm job under exec's supervision. When Slurm wants
// the job to end, the command gets the signal and time to write its checkpoint; then the job is put
// back into the queue, or submitted again with more memory.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/child.h"
#include "base/error.h"
#include "base/host.h"
#include "base/print.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/slurm_options.h"
#include "diagnosis/explain.h"
#include "diagnosis/verdict.h"
#include "memory/limit.h"
#include "process/own_stream.h"
#include "process/signal_inbox.h"
#include "process/supervisor.h"
#include "slurm/requeue.h"
#include "slurm/slurm_command.h"

namespace plimsoll::cli {
namespace {

using slurm::RequeueDecision;

// Slurm ends a job itself some time after it has asked (KillWait, GraceTime). Until then the
// command may write its checkpoint.
constexpr double kGraceSeconds = 600;

struct SlurmExecOptions {
  std::vector<std::string> command;
  std::vector<std::string> stray_words;
  slurm::RequeuePolicy policy;
};

void say_of_job(const std::string& text) {
  process::write_patiently(STDERR_FILENO, printable("plimsoll slurm: " + text) + "\n");
}

void carry_out(const RequeueDecision& decision, const slurm::OwnJob& job) {
  if (decision.action == RequeueDecision::Action::requeue) {
    const slurm::CommandAnswer answer = slurm::requeue(job.id);
    if (!answer.good) say_of_job("scontrol requeue failed: " + answer.output);
  } else if (decision.action == RequeueDecision::Action::submit_again) {
    const slurm::CommandAnswer answer = slurm::submit_again(job, decision.memory_bytes);
    say_of_job(answer.good ? "submitted as job " + answer.output
                           : "sbatch failed: " + answer.output);
  }
}

void slurm_exec(const SlurmExecOptions& options) {
  if (!options.stray_words.empty() || options.command.empty()) {
    fail(ErrorKind::usage, "put the command after --: plimsoll slurm exec [OPTIONS] -- {} ...",
         options.stray_words.empty() ? "COMMAND" : options.stray_words.front());
  }
  const auto job = slurm::own_job(Host::real());
  if (!job) {
    fail(
        ErrorKind::usage,
        "this is not a Slurm job: SLURM_JOB_ID is not set; plimsoll exec runs a command elsewhere");
  }
  slurm::RequeuePolicy policy = options.policy;
  policy.has_scontrol = !find_program("scontrol").empty();
  // From here on, no signal of Slurm ends this process before it has decided.
  const sigset_t before = process::block_ending_signals();
  say_of_job(slurm::describe(*job));
  diagnosis::Evidence evidence;
  evidence.ending = process::run_supervised({.command = options.command,
                                             .grace_seconds = kGraceSeconds,
                                             .patient = true,
                                             .signal_mask = before,
                                             .say = say_of_job});
  evidence.machine_limit_bytes = memory::detect_limit().bytes;
  const diagnosis::Verdict verdict = diagnosis::judge(evidence);
  const slurm::EndFacts facts = diagnosis::end_facts(evidence.ending, verdict, *job);
  const slurm::JobEnd end = slurm::end_of(facts, *job);
  if (end == slurm::JobEnd::failed || end == slurm::JobEnd::out_of_memory) {
    say_of_job(diagnosis::describe(verdict));
  }
  const RequeueDecision decision = slurm::decide(facts, *job, policy);
  if (!decision.why.empty()) say_of_job(decision.why);
  carry_out(decision, *job);
  throw ExitWith{decision.exit_code};
}

}  // namespace

void add_slurm_exec(CLI::App& slurm, const std::vector<std::string>& words) {
  CLI::App* command = slurm.add_subcommand(
      "exec", "Inside a job: run a command, and requeue the job if its time is over");
  auto options = std::make_shared<SlurmExecOptions>();
  options->command = words;
  command->add_option("COMMAND", options->stray_words, "after --: the command and its arguments");
  add_requeue_options(*command, options->policy);
  command
      ->add_option("--requeue-exit", options->policy.requeue_exit,
                   "without scontrol, as in a container: end with this code to be requeued; the "
                   "site's RequeueExit must name it")
      ->check(whole_number(1, 255))
      ->type_name("CODE")
      ->capture_default_str();
  command->footer(
      R"(The command gets SIGUSR1 (of --signal) or SIGTERM. What happens when it has ended:
  time limit near, preempted   scontrol requeue, at most --max-requeues times
  out of memory                submitted again with 1.5 times the memory, up to --max-mem
  cancelled, failed, finished  nothing
The command must continue by itself when it is started again: plimsoll train --resume auto.
Exit code: the command's own. docs/guides/slurm.md explains all of it.

Examples:
  plimsoll slurm exec -- plimsoll train papers.plim --save-dir models --resume auto
  plimsoll slurm exec --max-mem 64G --max-requeues 50 -- python train.py)");
  command->callback([options] { slurm_exec(*options); });
}

}  // namespace plimsoll::cli
