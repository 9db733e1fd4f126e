#include "cli/slurm_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/child.h"
#include "base/error.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "slurm/job.h"

namespace plimsoll::cli {
namespace {

// "4h" as elsewhere, or "04:00:00" and "2-00:00:00" as for sbatch.
double parse_limit(const std::string& text) {
  if (text.find(':') == std::string::npos) return parse_seconds(text);
  const auto seconds = slurm::parse_elapsed(text);
  if (!seconds) fail(ErrorKind::usage, "'{}' is not a time; write it like 4h or 04:00:00", text);
  return *seconds;
}

void add_word(CLI::App& command, const char* name, std::string& value, const char* description) {
  command.add_option(name, value, description)->type_name("NAME")->group(kSlurm);
}

void add_count(CLI::App& command, const char* name, std::optional<unsigned>& value,
               const char* description) {
  command.add_option(name, value, description)
      ->check(whole_number(0, 4096))
      ->type_name("N")
      ->group(kSlurm);
}

}  // namespace

void add_requeue_options(CLI::App& command, slurm::RequeuePolicy& policy) {
  command
      .add_option("--max-requeues", policy.max_requeues,
                  "how often the job may be started again, for any reason")
      ->check(whole_number(0, 100'000))
      ->type_name("N")
      ->capture_default_str()
      ->group(kSlurm);
  add_bytes(command, "--max-mem", policy.max_memory_bytes,
            "a job that ran out of memory is submitted again with more, up to this much")
      ->group(kSlurm);
}

void add_slurm_options(CLI::App& command, SlurmOptions& options) {
  add_word(command, "--job-name", options.job_name, "name of the job");
  add_word(command, "--account", options.account, "account to charge");
  add_word(command, "--partition", options.partition, "partition to run in");
  add_word(command, "--constraint", options.constraint, "features that the node must have");
  command
      .add_option_function<std::string>(
          "--time", [&options](const std::string& text) { options.seconds = parse_limit(text); },
          "time limit, as 4h or 04:00:00; the job is requeued when it ends")
      ->type_name("TIME")
      ->group(kSlurm);
  add_bytes(command, "--mem", options.memory_bytes, "memory of the job")->group(kSlurm);
  command.add_flag("--no-mem", options.no_mem, "ask for no memory, for sites that refuse --mem")
      ->excludes("--mem")
      ->group(kSlurm);
  add_count(command, "--gpus", options.gpus, "number of GPUs");
  command
      .add_option(
          "--sbatch", options.sbatch,
          "any other option of sbatch, as qos=long or exclusive; replaces ours of that name")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all()
      ->group(kSlurm);
  add_requeue_options(command, options.policy);
  command.add_flag("--submit", options.submit, "submit the script instead of printing it")
      ->group(kSlurm);
}

std::vector<slurm::SbatchOption> sbatch_options(const SlurmOptions& options) {
  std::vector<slurm::SbatchOption> all;
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) all.push_back({key, value});
  };
  add("account", options.account);
  add("partition", options.partition);
  add("constraint", options.constraint);
  for (const std::string& text : options.sbatch) all.push_back(slurm::parse_sbatch_option(text));
  return all;
}

std::vector<std::string> slurm_exec_words(const slurm::RequeuePolicy& policy) {
  std::vector<std::string> words = {program_word(), "slurm", "exec", "--max-requeues",
                                    fmt::format("{}", policy.max_requeues)};
  if (policy.max_memory_bytes) {
    words.insert(words.end(), {"--max-mem", fmt::format("{}M", *policy.max_memory_bytes / kMiB)});
  }
  words.emplace_back("--");
  return words;
}

std::string program_word() { return shell_word(own_program().string()); }

std::vector<std::string> given_words(const CLI::App& command,
                                     const std::vector<std::string>& left_out) {
  std::vector<std::string> words;
  std::vector<const CLI::Option*> seen;
  for (const CLI::Option* option : command.parse_order()) {
    const std::string name = option->get_positional() ? "" : option->get_name();
    const bool skipped = name.empty() || option->get_group() == kSlurm ||
                         std::ranges::find(left_out, name) != left_out.end() ||
                         std::ranges::find(seen, option) != seen.end();
    if (skipped) continue;
    seen.push_back(option);
    words.push_back(name);
    if (option->get_items_expected_max() == 0) continue;  // a flag
    for (const std::string& value : option->results()) words.push_back(shell_word(value));
  }
  return words;
}

}  // namespace plimsoll::cli
