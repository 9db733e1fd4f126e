#include "slurm/accounting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "slurm/requeue.h"

namespace plimsoll::slurm {
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

}  // namespace plimsoll::slurm
