// plimsoll explain: explains an exit code, a log or the last run, and says what to do.
#include "diagnosis/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/print.h"
#include "base/text_file.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "diagnosis/circumstances.h"
#include "diagnosis/result_file.h"
#include "diagnosis/verdict.h"
#include "slurm/job.h"
#include "slurm/slurm_command.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr uint64_t kMostLogBytes = 4 * kMiB;  // from the end: the cause of an end is logged last

struct ExplainOptions {
  std::vector<std::string> words;
  std::string subject;  // the words, with blanks between them
  std::string job;      // of Slurm
  bool last = false;
  bool json = false;
};

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  text.erase(0, text.find_last_of("\n\r") + 1);
  return text.substr(0, 160);
}

void print_verdict(const diagnosis::Verdict& verdict, const std::string& circumstance) {
  print("{}\n", diagnosis::describe(verdict));
  if (!circumstance.empty()) print("  here, now: {}\n", circumstance);
}

void explain_log(const ExplainOptions& options) {
  const std::string text = read_end(options.subject, kMostLogBytes);
  const auto verdict = diagnosis::judge_log(text);
  if (!verdict) {
    const std::string end = last_line(text);
    if (options.json) {
      print_json({{"log", options.subject}, {"verdict", nullptr}, {"last_line", end}});
    } else {
      print("{} has no known sign of a failure.\nIts last line: {}\n", options.subject,
            end.empty() ? "(it is empty)" : end);
      print(
          "A command that was killed, such as one out of memory, often leaves no message in its "
          "log.\nTry how it ended: plimsoll explain --last, if plimsoll exec ran it last; "
          "otherwise "
          "its exit code: plimsoll explain CODE\n");
    }
    return;
  }
  const std::string now = diagnosis::circumstance_of(verdict->cause, diagnosis::look_around());
  if (options.json) {
    print_json({{"log", options.subject}, {"verdict", to_json(*verdict)}, {"now", now}});
  } else {
    print_verdict(*verdict, now);
  }
}

void explain_last(const ExplainOptions& options) {
  const diagnosis::LastRun run = diagnosis::read_last_run(diagnosis::last_run_file());
  const bool is_good = run.verdict.cause == diagnosis::Cause::success;
  const std::string now =
      is_good ? "" : diagnosis::circumstance_of(run.verdict.cause, diagnosis::look_around());
  if (options.json) {
    print_json({{"command", run.command}, {"verdict", to_json(run.verdict)}, {"now", now}});
    return;
  }
  print("{}\n", run.command);
  print_verdict(run.verdict, now);
}

void explain_code(const diagnosis::Code& code, const ExplainOptions& options) {
  const auto explanation = diagnosis::explain(code, diagnosis::look_around());
  if (options.json) {
    print_json(to_json(explanation));
  } else {
    print("{}\n", diagnosis::describe(explanation));
  }
}

void explain_job(const ExplainOptions& options) {
  const slurm::JobAccount account = slurm::read_account(options.job);
  const auto code = diagnosis::parse_code(slurm::decisive_code(account));
  const auto memory = slurm::memory_to_ask_for(account);
  const auto explanation =
      code ? std::optional(diagnosis::explain(*code, diagnosis::look_around())) : std::nullopt;
  if (options.json) {
    print_json({{"job", account.id},
                {"name", account.name},
                {"state", account.state},
                {"exit_code", account.exit_code},
                {"nodes", account.nodes},
                {"requested_memory", account.memory},
                {"memory_to_ask_for_bytes", memory ? ordered_json(*memory) : ordered_json()},
                {"explanation", explanation ? to_json(*explanation) : ordered_json()}});
    return;
  }
  print("{}\n", slurm::describe(account));
  if (memory) print("  ask for more: --mem={}M\n", *memory / kMiB);
  if (explanation) print("{}\n", diagnosis::describe(*explanation));
}

void explain(const ExplainOptions& options) {
  const int given =
      (options.last ? 1 : 0) + (options.subject.empty() ? 0 : 1) + (options.job.empty() ? 0 : 1);
  if (given != 1) {
    fail(ErrorKind::usage,
         "give an exit code, the state of a Slurm job, a log, --job or --last, as in: plimsoll "
         "explain 137");
  }
  if (!options.job.empty()) return explain_job(options);
  if (options.last) return explain_last(options);
  std::error_code none;
  if (fs::is_regular_file(options.subject, none)) return explain_log(options);
  if (const auto code = diagnosis::parse_code(options.subject)) return explain_code(*code, options);
  if (options.subject.find_first_not_of("-0123456789") == std::string::npos) {
    fail(ErrorKind::usage,
         "{} is not an exit code: those are 0 to 255, and -1 to -64 for signals; to look up a "
         "larger number, use its remainder by 256",
         options.subject);
  }
  const auto meant = diagnosis::nearest_code(options.subject);
  fail(ErrorKind::usage,
       "'{}' is neither a file nor an exit code{}; write 137, SIGKILL, Slurm's 0:9 or "
       "OUT_OF_MEMORY, or the name of a log",
       options.subject, meant ? fmt::format(", did you mean {}?", *meant) : "");
}

constexpr const char* kExplainFooter = R"(Examples:
  plimsoll explain 137
  plimsoll explain 0:125         as sacct prints it
  plimsoll explain OUT_OF_MEMORY the state of a Slurm job; also OOM, TIMEOUT, PD
  plimsoll explain --job 1234    how a Slurm job ended, from sacct
  plimsoll explain run.log
  plimsoll explain --last        the last plimsoll exec)";

}  // namespace

void add_explain(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("explain", "Explain an exit code or a log, and say what to do");
  auto options = std::make_shared<ExplainOptions>();
  command->add_option("WHAT", options->words,
                      "an exit code, a signal's name, the state of a Slurm job, or a log");
  command->add_flag("--last", options->last, "the last plimsoll exec");
  command->add_option("--job", options->job, "how this Slurm job ended")->type_name("ID");
  add_json(*command, options->json);
  command->footer(kExplainFooter);
  command->callback([options] {
    options->subject = fmt::format("{}", fmt::join(options->words, " "));
    explain(*options);
  });
}

}  // namespace plimsoll::cli
