#include "slurm/job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/child.h"
#include "base/error.h"
#include "base/units.h"
#include "slurm/requeue.h"

namespace plimsoll::slurm {
namespace {

std::optional<uint64_t> whole_number_of(const Host& host, const std::string& name) {
  const auto text = host.variable(name);
  const bool plain =
      text && !text->empty() && text->find_first_not_of("0123456789") == std::string::npos;
  return plain ? leading_number(*text) : std::nullopt;
}

std::optional<uint64_t> asked_memory(const Host& host) {
  if (const auto per_node = whole_number_of(host, "SLURM_MEM_PER_NODE"); per_node.value_or(0) > 0) {
    return *per_node * kMiB;
  }
  const auto each = [&](const char* bytes, const char* count) -> std::optional<uint64_t> {
    const auto mib = whole_number_of(host, bytes);
    if (mib.value_or(0) == 0) return {};
    return *mib * whole_number_of(host, count).value_or(1) * kMiB;
  };
  if (const auto of_cpus = each("SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE")) return of_cpus;
  return each("SLURM_MEM_PER_GPU", "SLURM_GPUS_ON_NODE");
}

// The value of " Key=value" in scontrol's line. Values have no blanks, except for those at its end
// (Command, Comment), which are cut at the next " Key=".
std::string value_of(std::string_view line, std::string_view key) {
  const std::string wanted = fmt::format("{}=", key);
  size_t at = line.starts_with(wanted) ? 0 : line.find(" " + wanted);
  if (at == std::string_view::npos) return {};
  at = line.find('=', at) + 1;
  size_t end = line.find(' ', at);
  while (end != std::string_view::npos) {
    const size_t next = line.find_first_of(" =", end + 1);
    if (next == std::string_view::npos || line[next] == '=') break;
    end = next;
  }
  std::string value(line.substr(at, end == std::string_view::npos ? end : end - at));
  while (!value.empty() && (value.back() == '\n' || value.back() == ' ')) value.pop_back();
  return value;
}

bool is_set(const std::string& value) {
  return !value.empty() && value != "None" && value != "Unknown" && value != "N/A" &&
         value != "(null)";
}

}  // namespace

std::optional<OwnJob> own_job(const Host& host) {
  const auto id = host.variable("SLURM_JOB_ID");
  if (!id || id->empty()) return {};
  OwnJob job{.id = *id};
  const auto array = host.variable("SLURM_ARRAY_JOB_ID");
  const auto task = host.variable("SLURM_ARRAY_TASK_ID");
  if (array && task && !array->empty() && !task->empty()) {
    job.id = *array + "_" + *task;
    job.array_task = *task;
  }
  job.requeues = whole_number_of(host, "SLURM_RESTART_COUNT").value_or(0);
  job.restarts = job.requeues + whole_number_of(host, kEarlierRestarts).value_or(0);
  job.memory_bytes = asked_memory(host);
  if (const auto end = whole_number_of(host, "SLURM_JOB_END_TIME"); end.value_or(0) > 0) {
    job.deadline_seconds = static_cast<double>(*end);
  }
  return job;
}

std::string describe(const OwnJob& job) {
  std::string text = "job " + job.id;
  if (job.restarts > 0) text += fmt::format(", restarted {}", counted(job.restarts, "time"));
  if (job.memory_bytes) text += fmt::format(", {} of memory", format_bytes(*job.memory_bytes));
  return text;
}

std::optional<JobRecord> parse_record(std::string_view line) {
  JobRecord record;
  record.state = value_of(line, "JobState");
  if (value_of(line, "JobId").empty() || record.state.empty()) return {};
  record.reason = value_of(line, "Reason");
  record.name = value_of(line, "JobName");
  record.command = value_of(line, "Command");
  record.exit_code = value_of(line, "ExitCode");
  record.restarts = leading_number(value_of(line, "Restarts")).value_or(0);
  record.preempted = is_set(value_of(line, "PreemptTime"));
  record.run_seconds = parse_elapsed(value_of(line, "RunTime"));
  record.limit_seconds = parse_elapsed(value_of(line, "TimeLimit"));
  const std::string nodes = value_of(line, "NodeList");
  if (is_set(nodes)) record.nodes = nodes;
  for (const char* key : {"MinMemoryNode", "MinMemoryCPU"}) {
    if (record.memory.empty()) record.memory = value_of(line, key);
  }
  return record;
}

std::optional<double> parse_elapsed(std::string_view text) {
  double days = 0;
  if (const size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto number = leading_number(text.substr(0, dash));
    if (!number) return {};
    days = static_cast<double>(*number);
    text.remove_prefix(dash + 1);
  }
  std::array<double, 3> parts = {};  // hours, minutes, seconds
  size_t count = 0;
  while (count < parts.size()) {
    const size_t colon = text.find(':');
    const std::string_view word = text.substr(0, colon);
    if (word.empty() || word.find_first_not_of("0123456789.") != std::string_view::npos) return {};
    const auto number = leading_number(word);
    if (!number) return {};
    parts[count++] = static_cast<double>(*number);
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
  }
  if (count == 2) return days * 86400 + parts[0] * 60 + parts[1];
  if (count == 3) return days * 86400 + parts[0] * 3600 + parts[1] * 60 + parts[2];
  return {};
}

namespace {

constexpr const char* kFields =
    "JobID,JobName,State,ExitCode,NodeList,ReqMem,Elapsed,Timelimit,MaxRSS";
enum Field : size_t { kId, kName, kState, kExit, kNodes, kMemory, kElapsed, kLimit, kPeak, kCount };

std::vector<std::string> cut(std::string_view line, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t end = line.find(separator);
    parts.emplace_back(line.substr(0, end));
    if (end == std::string_view::npos) return parts;
    line.remove_prefix(end + 1);
  }
}

// "4028K" as sacct prints it, or a plain number of bytes.
uint64_t bytes_of(const std::string& text) {
  try {
    return text.empty() ? 0 : parse_bytes(text);
  } catch (const Error&) {
    return 0;
  }
}

bool names_a_cause(const std::vector<std::string>& fields) {
  const std::string& state = fields[kState];
  const bool by_signal =
      fields[kExit].find(':') != std::string::npos && !fields[kExit].ends_with(":0");
  return state.starts_with("OUT_OF_ME") || (state == "FAILED" && by_signal);
}

}  // namespace

std::vector<std::string> account_command(const std::string& job_id) {
  return {"sacct", "--jobs=" + job_id, "--parsable2", "--noheader",
          std::string("--format=") + kFields};
}

std::optional<JobAccount> parse_account(std::string_view text) {
  std::optional<JobAccount> account;
  for (const std::string& line : cut(text, '\n')) {
    const auto fields = cut(line, '|');
    if (fields.size() != kCount) continue;
    const bool is_step = fields[kId].find('.') != std::string::npos;
    if (!is_step) {  // a later attempt of a requeued job replaces an earlier one
      account = JobAccount{.id = fields[kId],
                           .name = fields[kName],
                           .state = fields[kState],
                           .exit_code = fields[kExit],
                           .nodes = fields[kNodes] == "None assigned" ? "" : fields[kNodes],
                           .memory = fields[kMemory],
                           .run_seconds = parse_elapsed(fields[kElapsed]),
                           .limit_seconds = parse_elapsed(fields[kLimit])};
      continue;
    }
    if (!account || !fields[kId].starts_with(account->id + ".")) continue;
    account->sampled_peak_bytes = std::max(account->sampled_peak_bytes, bytes_of(fields[kPeak]));
    if (account->step.empty() && names_a_cause(fields)) {
      account->step = fields[kId];
      account->step_state = fields[kState];
      account->step_exit_code = fields[kExit];
    }
  }
  return account;
}

JobAccount account_of(const std::string& id, const JobRecord& record) {
  return {.id = id,
          .name = record.name,
          .state = record.state,
          .exit_code = record.exit_code,
          .nodes = record.nodes,
          .memory = record.memory,
          .run_seconds = record.run_seconds,
          .limit_seconds = record.limit_seconds,
          .restarts = record.restarts};
}

std::string describe(const JobAccount& account) {
  std::string text = "job " + account.id;
  if (!account.name.empty()) text += fmt::format(" ({})", account.name);
  text += ": " + account.state;
  if (!account.exit_code.empty()) text += ", exit code " + account.exit_code;
  if (!account.step.empty() && account.step_state != account.state) {
    text +=
        fmt::format("; step {}: {}, {}", account.step, account.step_state, account.step_exit_code);
  }
  std::vector<std::string> parts;
  if (account.run_seconds) {
    parts.push_back("ran " + format_seconds(*account.run_seconds));
    if (account.limit_seconds) parts.back() += " of " + format_seconds(*account.limit_seconds);
    if (!account.nodes.empty()) parts.back() += " on " + account.nodes;
  }
  if (!account.memory.empty()) parts.push_back("asked for " + account.memory + " of memory");
  if (account.sampled_peak_bytes > 0) {
    parts.push_back(fmt::format("MaxRSS {}, which is a sample and misses short peaks",
                                format_bytes(account.sampled_peak_bytes)));
  }
  if (account.restarts > 0) parts.push_back("restarted " + counted(account.restarts, "time"));
  if (!parts.empty()) text += fmt::format("\n  {}", fmt::join(parts, "; "));
  return text;
}

std::string decisive_code(const JobAccount& account) {
  const bool vague = account.state == "FAILED" || account.state == "COMPLETED";
  if (account.step_state.starts_with("OUT_OF_ME")) return account.step_state;
  if (!account.step_exit_code.empty() && vague) return account.step_exit_code;
  return account.state == "FAILED" && !account.exit_code.empty() ? account.exit_code
                                                                 : account.state;
}

std::optional<uint64_t> memory_to_ask_for(const JobAccount& account) {
  // Older versions mark memory per node and per CPU: "4Gn", "2Gc".
  const bool per_cpu = account.memory.ends_with('c');
  std::string memory = account.memory;
  if (memory.ends_with('n')) memory.pop_back();
  const uint64_t had = per_cpu ? 0 : bytes_of(memory);
  if (had == 0 || !decisive_code(account).starts_with("OUT_OF_ME")) return {};
  return static_cast<uint64_t>(kMoreMemory * static_cast<double>(had)) / kMiB * kMiB;
}

namespace {

constexpr uint64_t kExecBytes = 64 * kMiB;  // exec and its keeper, generously

std::optional<uint64_t> whole_variable(const Host& host, const char* name) {
  const auto text = host.variable(name);
  uint64_t number = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() && number > 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<SlurmSteps> slurm_steps(unsigned at_once, std::optional<unsigned> gpus_each,
                                      const Host& host) {
  const auto job = host.variable("SLURM_JOB_ID");
  if (!job) return std::nullopt;
  SlurmSteps steps{.srun = find_program("srun", host).string(), .job = *job};
  if (steps.srun.empty()) return std::nullopt;
  const uint64_t share = std::max(1U, at_once);
  const uint64_t nodes = whole_variable(host, "SLURM_JOB_NUM_NODES").value_or(1);
  const uint64_t cpus = whole_variable(host, "SLURM_CPUS_ON_NODE").value_or(1);
  steps.nodes = static_cast<unsigned>(nodes);
  // A step does not span nodes.
  steps.cpus = static_cast<unsigned>(std::clamp<uint64_t>(nodes * cpus / share, 1, cpus));
  if (const auto per_node = whole_variable(host, "SLURM_MEM_PER_NODE")) {
    steps.memory_bytes = std::min(*per_node, nodes * *per_node / share) * kMiB;
  } else if (const auto per_cpu = whole_variable(host, "SLURM_MEM_PER_CPU")) {
    steps.memory_bytes = *per_cpu * steps.cpus * kMiB;
  }
  if (host.variable("SLURM_GPUS_ON_NODE") || host.variable("SLURM_JOB_GPUS")) {
    steps.gpus = gpus_each.value_or(1);
  }
  return steps;
}

std::vector<std::string> step_words(const SlurmSteps& steps, std::optional<uint64_t> memory_bytes) {
  std::vector<std::string> words = {steps.srun,
                                    "--exclusive",
                                    "--nodes=1",
                                    "--ntasks=1",
                                    fmt::format("--cpus-per-task={}", steps.cpus),
                                    "--export=ALL",
                                    "--input=none",
                                    "--quiet"};
  if (steps.memory_bytes) {
    const uint64_t bytes = memory_bytes ? *memory_bytes + kExecBytes : *steps.memory_bytes;
    words.push_back(fmt::format("--mem={}M", bytes / kMiB));
  }
  if (steps.gpus > 0) words.push_back(fmt::format("--gpus={}", steps.gpus));
  return words;
}

}  // namespace plimsoll::slurm
