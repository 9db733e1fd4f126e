#include "slurm/slurm_command.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>

#include "base/child.h"
#include "base/error.h"
#include "base/units.h"

namespace plimsoll::slurm {
namespace {

constexpr std::chrono::seconds kPatience{30};

// A job's own variables would be taken for options of the new job. SLURM_CONF stays.
bool belongs_to_this_job(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  return (name.starts_with("SLURM_") && name != "SLURM_CONF") || name.starts_with("SBATCH_") ||
         name == kEarlierRestarts;
}

CommandAnswer ask(const std::vector<std::string>& words, const std::string& input,
                  const Environment& environment) {
  CommandAnswer answer;
  try {
    const ProgramAnswer said = ask_child({.words = words,
                                          .input = input,
                                          .with_errors = true,
                                          .patience = kPatience,
                                          .environment = environment});
    answer.good = said.good();
    answer.output = said.output;
    if (!said.in_time) {
      answer.output +=
          fmt::format("{} did not answer within {} s", words.front(), kPatience.count());
    }
  } catch (const Error& error) {
    answer.output = error.what();
  }
  while (!answer.output.empty() && answer.output.back() == '\n') answer.output.pop_back();
  return answer;
}

}  // namespace

CommandAnswer ask_slurm(const std::vector<std::string>& words, const std::string& input) {
  return ask(words, input, own_environment());
}

std::optional<JobRecord> read_record(const std::string& job_id) {
  if (find_program("scontrol").empty()) return {};
  const CommandAnswer answer = ask_slurm({"scontrol", "show", "job", "--oneliner", job_id});
  return answer.good ? parse_record(answer.output) : std::nullopt;
}

JobAccount read_account(const std::string& job) {
  const bool plain = job.find_first_not_of("0123456789_") == std::string::npos;
  if (!plain) fail(ErrorKind::usage, "--job {}: write it like 1234, or 1234_7 for a task", job);
  const bool has_sacct = !find_program("sacct").empty();
  if (!has_sacct && find_program("scontrol").empty()) {
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
  Environment environment = own_environment();
  std::erase_if(environment, [](const std::string& entry) { return belongs_to_this_job(entry); });
  environment.push_back(fmt::format("{}={}", kEarlierRestarts, job.restarts + 1));
  std::vector<std::string> words = {"sbatch", "--parsable",
                                    fmt::format("--mem={}M", memory_bytes / kMiB)};
  if (!job.array_task.empty()) words.push_back("--array=" + job.array_task);
  return ask(words, script.output + "\n", environment);
}

std::string submit(const std::string& script) {
  if (find_program("sbatch").empty()) {
    fail(ErrorKind::io,
         "--submit needs sbatch, which is not in PATH; without --submit the script is printed");
  }
  const CommandAnswer answer = ask_slurm({"sbatch", "--parsable"}, script);
  if (!answer.good) fail(ErrorKind::io, "sbatch refused the script: {}", answer.output);
  return answer.output;
}

}  // namespace plimsoll::slurm
