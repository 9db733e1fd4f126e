#include "slurm/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll::slurm {
namespace {

constexpr double kLeastWarningSeconds = 60;
constexpr double kRequeueSeconds = 30;            // for scontrol, and for the end of the processes
constexpr double kSlowWrites = 50.0 * (1 << 20);  // bytes per second of a busy shared disk
constexpr double kMargin = 2;
constexpr size_t kColumns = 100;

// Options that say the same in another way, so that the user's replaces ours.
struct OtherWay {
  std::string_view ours;
  std::string_view theirs;
};
constexpr OtherWay kOtherWays[] = {
    {"mem", "mem-per-cpu"},
    {"mem", "mem-per-gpu"},
    {"gpus", "gres"},
    {"gpus", "gpus-per-node"},
    {"gpus", "gpus-per-task"},
    {"requeue", "no-requeue"},
    {"chdir", "D"},
    {"output", "o"},
    {"job-name", "J"},
    {"time", "t"},
    {"cpus-per-task", "c"},
    {"gpus", "G"},
};

bool is_replaced(std::string_view ours, const std::vector<SbatchOption>& theirs) {
  return std::ranges::any_of(theirs, [&](const SbatchOption& option) {
    return option.key == ours || std::ranges::any_of(kOtherWays, [&](const OtherWay& way) {
             return way.ours == ours && way.theirs == option.key;
           });
  });
}

// sbatch splits its lines at blanks and knows double quotes.
std::string sbatch_value(const std::string& key, const std::string& value) {
  if (value.find_first_of("\n\r\"\\#") != std::string::npos) {
    fail(ErrorKind::usage,
         "#SBATCH --{}: '{}' has a line break, a quote, a backslash or #, which sbatch cannot "
         "read; choose another value",
         key, value);
  }
  return value.find_first_of(" \t'") == std::string::npos ? value : "\"" + value + "\"";
}

std::string line_of(const SbatchOption& option) {
  const std::string dashes = option.key.size() == 1 ? "-" : "--";
  const std::string between = option.key.size() == 1 ? " " : "=";
  return fmt::format("#SBATCH {}{}{}\n", dashes, option.key,
                     option.value.empty() ? "" : between + sbatch_value(option.key, option.value));
}

std::vector<SbatchOption> own_options(const ScriptRequest& request) {
  std::vector<SbatchOption> own = {
      {"job-name", request.job_name},
      {"chdir", request.folder},
      {"output", request.job_name + (is_array(request.options) ? "-%A_%a.log" : "-%j.log")},
      {"open-mode", "append"}};
  if (request.memory_bytes) {
    own.push_back({"mem", fmt::format("{}M", (*request.memory_bytes + kMiB - 1) / kMiB)});
  }
  if (request.seconds) own.push_back({"time", format_limit(*request.seconds)});
  own.push_back({"nodes", "1"});
  own.push_back({"ntasks", "1"});
  own.push_back({"cpus-per-task", fmt::format("{}", request.cpus)});
  if (request.gpus > 0) own.push_back({"gpus", fmt::format("{}", request.gpus)});
  own.push_back({"requeue", ""});
  own.push_back({"signal", fmt::format("B:USR1@{}", request.warning_seconds)});
  return own;
}

// The words, broken into lines of at most kColumns where possible, and where the command of an exec
// begins.
std::string wrapped(const std::vector<std::string>& words) {
  std::string text;
  size_t column = 0;
  bool command_begins = false;
  for (const std::string& word : words) {
    if (command_begins || (column > 0 && column + 1 + word.size() > kColumns)) {
      text += " \\\n   ";
      column = 3;
    }
    if (column > 0) text += " ";
    text += word;
    column += word.size() + 1;
    command_begins = word == "--";
  }
  return text + "\n";
}

}  // namespace

SbatchOption parse_sbatch_option(const std::string& text) {
  const size_t start = text.find_first_not_of('-');
  const std::string rest = start == std::string::npos ? "" : text.substr(start);
  const size_t equals = rest.find('=');
  SbatchOption option{rest.substr(0, equals),
                      equals == std::string::npos ? "" : rest.substr(equals + 1)};
  const bool plain = !option.key.empty() && option.key.find_first_not_of(
                                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
                                                "WXYZ0123456789-_") == std::string::npos;
  if (!plain) {
    fail(ErrorKind::usage,
         "--sbatch '{}' is no option of sbatch; write it like --sbatch qos=long or --sbatch "
         "exclusive",
         text);
  }
  sbatch_value(option.key, option.value);
  return option;
}

bool is_array(const std::vector<SbatchOption>& options) {
  return std::ranges::any_of(options, [](const SbatchOption& option) {
    return option.key == "array" || option.key == "a";
  });
}

std::string default_job_name(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder.has_filename() ? folder : folder.parent_path();
  const std::string name = path.filename().string();
  return "plimsoll-" + (name.empty() || name == "." || name == ".." ? "job" : name);
}

std::string format_limit(double seconds) {
  const auto minutes = static_cast<uint64_t>(std::max(1.0, std::ceil(seconds / 60)));
  const uint64_t days = minutes / (24 * 60);
  const std::string clock = fmt::format("{:02}:{:02}:00", minutes / 60 % 24, minutes % 60);
  return days == 0 ? clock : fmt::format("{}-{}", days, clock);
}

unsigned warning_seconds(double seconds_a_batch, uint64_t checkpoint_bytes) {
  const double work =
      kMargin * (seconds_a_batch + static_cast<double>(checkpoint_bytes) / kSlowWrites);
  const double all = std::max(kLeastWarningSeconds, kRequeueSeconds + work);
  constexpr double kMost = 65535;  // of sbatch
  return static_cast<unsigned>(std::ceil(std::min(all, kMost)));
}

std::string script_text(const ScriptRequest& request) {
  std::string text = "#!/bin/bash\n";
  text += fmt::format("# Made by: {}\n", request.made_by);
  for (const SbatchOption& option : own_options(request)) {
    if (!is_replaced(option.key, request.options)) text += line_of(option);
  }
  for (const SbatchOption& option : request.options) text += line_of(option);
  text += "\n";
  for (const std::string& note : request.notes) text += "# " + note + "\n";
  text += "# `exec`: plimsoll takes the place of the shell, and so gets the signals of Slurm.\n";
  return text + "exec " + wrapped(request.command);
}

}  // namespace plimsoll::slurm
