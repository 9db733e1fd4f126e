// plimsoll exec: runs any command as a tree of its own, and returns when nothing of it is alive.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "process/level.h"
#include "process/supervisor.h"

namespace plimsoll::cli {
namespace {

using process::Ending;

constexpr double kDefaultGraceSeconds = 10;

struct Options {
  std::vector<std::string> command;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint64_t> memory_high_bytes;
  std::optional<double> timeout_seconds;
  std::optional<double> idle_seconds;
  std::optional<double> grace_seconds;
  std::optional<std::filesystem::path> log;
  std::optional<std::filesystem::path> result;
  std::string level;
  std::vector<std::string> stray_words;
};

void say(const std::string& text) {
  fmt::print(stderr, "plimsoll exec: {}{}", text, text.ends_with('\n') ? "" : "\n");
}

process::RunOptions run_options(const Options& options) {
  return {.command = options.command,
          .environment = {},
          .memory = {.limit_bytes = options.memory_bytes, .high_bytes = options.memory_high_bytes},
          .timeout_seconds = options.timeout_seconds,
          .idle_seconds = options.idle_seconds,
          .grace_seconds = options.grace_seconds.value_or(kDefaultGraceSeconds),
          .log = options.log,
          .level = process::level_named(options.level),
          .busy_elsewhere = {},
          .say = say};
}

// What went wrong before the command ran has one code, so that it is not taken for the command's.
Ending supervise(const Options& options) {
  try {
    return process::run_supervised(run_options(options));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    throw Error(ErrorKind::refused, error.what());
  }
}

void exec(const Options& options) {
  if (!options.stray_words.empty() || options.command.empty()) {
    const std::string word = options.stray_words.empty() ? "COMMAND" : options.stray_words.front();
    fail(ErrorKind::usage, "the command stands behind --: plimsoll exec [OPTIONS] -- {} ...", word);
  }
  const Ending ending = supervise(options);
  const int code = process::exit_code(ending);
  // A shell that ran us in a loop ends it only for a child that died of Ctrl-C.
  const auto* const killed = std::get_if<process::Signaled>(&ending.leader);
  if (ending.typed_interrupt && killed != nullptr && killed->number == SIGINT) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  throw ExitWith{code};
}

}  // namespace

void add_exec(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* command =
      app.add_subcommand("exec", "Run a command so that nothing of it is left afterwards");
  auto options = std::make_shared<Options>();
  options->command = words;
  command->add_option("COMMAND", options->stray_words, "behind --: the command and its arguments");
  add_bytes(*command, "--memory", options->memory_bytes, "end it when its processes use more")
      ->group(kResources);
  add_bytes(*command, "--memory-high", options->memory_high_bytes,
            "slow it down when they use more (cgroup v2)")
      ->group(kResources);
  add_duration(*command, "--timeout", options->timeout_seconds, "end it after this time")
      ->group(kResources);
  add_duration(*command, "--idle-timeout", options->idle_seconds,
               "end it after this time without output and CPU use: a hang")
      ->group(kResources);
  add_duration(*command, "--grace", options->grace_seconds,
               "from the request to end (SIGTERM) to the kill (SIGKILL)")
      ->default_str("10s")
      ->group(kResources);
  command
      ->add_option("--level", options->level,
                   "how its processes are held together; the strongest that works here")
      ->check(CLI::IsMember({"cgroup2", "freezer", "pidns", "sweep"}))
      ->group(kResources);
  command->add_option("--log", options->log, "append all output to this file, and show it")
      ->type_name("FILE")
      ->group(kOutput);
  command->add_option("--result", options->result, "write how it ended to this file, as JSON")
      ->type_name("FILE")
      ->group(kOutput);
  command->footer(R"(Exit code: the command's own, 128 + N where signal N ended it, or
  121  it hung (--idle-timeout)    124  --timeout
  122  its --memory was too little 125  it could not be supervised, and was not started
  126  it cannot be executed       127  it was not found
docs/supervision.md says what is guaranteed, and how.

Examples:
  plimsoll exec -- python train.py --epochs 10
  plimsoll exec --memory 16G --timeout 2h --log run.log -- bash -c 'python train.py | tee out')");
  command->callback([options] { exec(*options); });
}

}  // namespace plimsoll::cli
