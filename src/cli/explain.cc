// plimsoll explain: explains an exit code, a log or the last run, and says what to do.
#include "diagnosis/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/print.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "diagnosis/circumstances.h"
#include "diagnosis/explain_answers.h"

namespace plimsoll::cli {
namespace {

struct ExplainOptions {
  std::vector<std::string> words;
  std::string subject;  // the words, with blanks between them
  std::string job;      // of Slurm
  bool last = false;
  bool json = false;
};

template <typename Answer>
void tell(const Answer& answer, bool json) {
  if (json) {
    print_json(to_json(answer));
  } else {
    print("{}\n", describe(answer));
  }
}

void explain(const ExplainOptions& options) {
  const int given =
      (options.last ? 1 : 0) + (options.subject.empty() ? 0 : 1) + (options.job.empty() ? 0 : 1);
  if (given != 1) {
    fail(ErrorKind::usage,
         "give an exit code, the state of a Slurm job, a log, --job or --last, as in: plimsoll "
         "explain 137");
  }
  const bool json = options.json;
  if (!options.job.empty()) return tell(diagnosis::explain_job(options.job), json);
  if (options.last) return tell(diagnosis::explain_last_run(), json);
  std::error_code none;
  if (std::filesystem::is_regular_file(options.subject, none)) {
    return tell(diagnosis::explain_log(options.subject), json);
  }
  if (const auto code = diagnosis::parse_code(options.subject)) {
    return tell(diagnosis::explain(*code, diagnosis::look_around()), json);
  }
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
