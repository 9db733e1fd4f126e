// What `plimsoll explain` answers about a log, the last run and a Slurm job. Each answer has text
// for people and JSON for programs.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "diagnosis/explain.h"
#include "diagnosis/verdict.h"
#include "slurm/job.h"

namespace plimsoll::diagnosis {

struct ExplainedLog {
  std::string file;
  std::optional<Verdict> verdict;  // nothing: it has no known sign of a failure
  std::string last_line;           // shortened
  std::string now;                 // what this machine shows about the cause; may be empty
};
// Reads the end of the log, where the cause is. Throws Error{io}.
ExplainedLog explain_log(const std::filesystem::path& log);

std::string describe(const ExplainedLog& explained);
nlohmann::ordered_json to_json(const ExplainedLog& explained);

struct ExplainedRun {
  std::string command;  // as one line
  Verdict verdict;
  std::string now;  // as above
};
// The last `plimsoll exec`. Throws Error as read_last_run() does.
ExplainedRun explain_last_run();

std::string describe(const ExplainedRun& explained);
nlohmann::ordered_json to_json(const ExplainedRun& explained);

struct ExplainedJob {
  slurm::JobAccount account;
  std::optional<uint64_t> memory_bytes = {};    // to ask for next time; nothing if it was enough
  std::optional<Explanation> explanation = {};  // nothing if its code is not known
};
// Asks Slurm. Throws Error as slurm::read_account() does.
ExplainedJob explain_job(const std::string& job_id);

std::string describe(const ExplainedJob& explained);
nlohmann::ordered_json to_json(const ExplainedJob& explained);

}  // namespace plimsoll::diagnosis
