#include "diagnosis/explain_answers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text_file.h"
#include "base/units.h"
#include "diagnosis/circumstances.h"
#include "diagnosis/result_file.h"
#include "slurm/slurm_command.h"

namespace plimsoll::diagnosis {
namespace {

using nlohmann::ordered_json;

constexpr uint64_t kMostLogBytes = 4 * kMiB;  // from the end: the cause of an end is logged last
constexpr size_t kMostLineBytesShown = 160;

std::string end_of_log(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  text.erase(0, text.find_last_of("\n\r") + 1);
  return text.substr(0, kMostLineBytesShown);
}

std::string with_now(const Verdict& verdict, const std::string& now) {
  return describe(verdict) + (now.empty() ? "" : "\n  here, now: " + now);
}

}  // namespace

ExplainedLog explain_log(const std::filesystem::path& log) {
  const std::string text = read_end(log, kMostLogBytes);
  ExplainedLog explained{
      .file = log.string(), .verdict = judge_log(text), .last_line = end_of_log(text), .now = ""};
  if (explained.verdict) {
    explained.now = circumstance_of(explained.verdict->cause, look_around());
  }
  return explained;
}

std::string describe(const ExplainedLog& explained) {
  if (explained.verdict) return with_now(*explained.verdict, explained.now);
  return fmt::format(
      "{} has no known sign of a failure.\nIts last line: {}\nA command that was killed, such as "
      "one out of memory, often leaves no message in its log.\nTry how it ended: plimsoll explain "
      "--last, if plimsoll exec ran it last; otherwise its exit code: plimsoll explain CODE",
      explained.file, explained.last_line.empty() ? "(it is empty)" : explained.last_line);
}

ordered_json to_json(const ExplainedLog& explained) {
  if (!explained.verdict) {
    return {{"log", explained.file}, {"verdict", nullptr}, {"last_line", explained.last_line}};
  }
  return {
      {"log", explained.file}, {"verdict", to_json(*explained.verdict)}, {"now", explained.now}};
}

ExplainedRun explain_last_run() {
  LastRun run = read_last_run(last_run_file());
  const bool is_good = run.verdict.cause == Cause::success;
  return {.command = std::move(run.command),
          .verdict = run.verdict,
          .now = is_good ? "" : circumstance_of(run.verdict.cause, look_around())};
}

std::string describe(const ExplainedRun& explained) {
  return explained.command + "\n" + with_now(explained.verdict, explained.now);
}

ordered_json to_json(const ExplainedRun& explained) {
  return {{"command", explained.command},
          {"verdict", to_json(explained.verdict)},
          {"now", explained.now}};
}

ExplainedJob explain_job(const std::string& job_id) {
  ExplainedJob explained{.account = slurm::read_account(job_id)};
  explained.memory_bytes = slurm::memory_to_ask_for(explained.account);
  if (const auto code = parse_code(slurm::decisive_code(explained.account))) {
    explained.explanation = explain(*code, look_around());
  }
  return explained;
}

std::string describe(const ExplainedJob& explained) {
  std::string text = slurm::describe(explained.account);
  if (explained.memory_bytes) {
    text += fmt::format("\n  ask for more: --mem={}M", *explained.memory_bytes / kMiB);
  }
  if (explained.explanation) text += "\n" + describe(*explained.explanation);
  return text;
}

ordered_json to_json(const ExplainedJob& explained) {
  const slurm::JobAccount& account = explained.account;
  return {
      {"job", account.id},
      {"name", account.name},
      {"state", account.state},
      {"exit_code", account.exit_code},
      {"nodes", account.nodes},
      {"requested_memory", account.memory},
      {"memory_to_ask_for_bytes",
       explained.memory_bytes ? ordered_json(*explained.memory_bytes) : ordered_json()},
      {"explanation", explained.explanation ? to_json(*explained.explanation) : ordered_json()}};
}

}  // namespace plimsoll::diagnosis
