#include "slurm/job.h"

#include <fmt/format.h>

#include <array>

#include "base/units.h"

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

// The value of " Key=value" in scontrol's line. Values have no blanks, but for those at its end
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

}  // namespace plimsoll::slurm
