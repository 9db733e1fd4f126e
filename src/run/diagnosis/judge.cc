#include "diagnosis/case.h"

// The order of the checks is the diagnosis: first what plimsoll did itself, then the kernel's
// counters, then the output together with the signal, and the exit code last.
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <variant>

#include "base/units.h"
#include "diagnosis/explain.h"

namespace plimsoll::diagnosis {
namespace {

std::string program_of(const process::Ending& ending) {
  if (ending.command.empty()) return "the command";
  const std::string& path = ending.command.front();
  return path.substr(path.rfind('/') + 1);
}

// Whether the command line has a shell pipe without pipefail, so that its first part can fail
// without an exit code.
bool hides_failures_in_a_pipe(const process::Ending& ending) {
  for (size_t i = 1; i + 1 < ending.command.size(); ++i) {
    const std::string& option = ending.command[i];
    const std::string& script = ending.command[i + 1];
    const bool is_script = option.starts_with('-') && option.ends_with('c');
    const size_t pipe = script.find('|');
    if (is_script && pipe != std::string::npos && script.find("||") != pipe &&
        script.find("pipefail") == std::string::npos) {
      return true;
    }
  }
  return false;
}

Verdict judge_success(const Case& end) {
  Verdict verdict{.cause = Cause::success, .headline = "done in " + duration(end.ending().seconds)};
  std::string oddity;
  if (const uint64_t kills = end.memory().group_oom_kills; kills > 0) {
    oddity = fmt::format("{} of its processes {} killed because of memory while it ran", kills,
                         kills == 1 ? "was" : "were");
  } else if (const uint64_t ended = end.ending().leftovers_ended; ended > 0) {
    oddity = fmt::format("plimsoll ended {} process{} that it left running", ended,
                         ended == 1 ? "" : "es");
  } else if (end.sign && end.sign->sign != Sign::fallout) {
    oddity = "exit code 0, but " + output_says(end);
  }
  verdict.evidence = joined({peak_memory(end), oddity});
  return verdict;
}

Verdict judge_not_started(const Case& end, const process::NotStarted& start) {
  const std::string error = std::strerror(start.error);
  Verdict verdict{.cause = Cause::not_started,
                  .headline = fmt::format("not started: {}: {}", start.what, error)};
  switch (start.error) {
    case ENOENT:
      verdict.cause = Cause::missing_dependency;
      verdict.headline = "not started: command not found: " + start.what;
      verdict.evidence = "there is no such file, also not in PATH, or its interpreter is missing";
      verdict.next_step = "check the spelling, activate its environment, or give the full path";
      break;
    case EACCES:
      verdict.evidence = "the file exists but is not executable";
      verdict.next_step =
          fmt::format("chmod +x {}, or put its interpreter before it (bash, python)", start.what);
      break;
    case ENOEXEC:
      verdict.evidence = "the file is not a program for this machine and has no #! line";
      verdict.next_step = "add a #! line, or put its interpreter before it (bash, python)";
      break;
    case E2BIG:
      verdict.evidence = "the arguments and the environment are larger than the kernel allows";
      verdict.next_step = "pass long lists in a file";
      break;
    default:
      verdict.evidence = "the kernel refused to start " + program_of(end.ending());
      verdict.next_step = "plimsoll doctor, for limits on processes and memory";
  }
  return verdict;
}

// Called in this order; the first verdict counts.
constexpr std::array kQuestions = {judge_memory, judge_gpu, judge_surroundings, judge_signal};

}  // namespace

std::string duration(double seconds) {
  if (seconds >= 9.95 && seconds < 59.5) return fmt::format("{:.0f} s", seconds);
  return format_seconds(seconds >= 59.5 && seconds < 60 ? 60 : seconds);
}

std::string Case::after() const { return log_only ? "" : " after " + duration(ending().seconds); }

std::string shortened(std::string_view line) {
  constexpr size_t kMost = 140;
  if (line.size() <= kMost) return std::string(line);
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;  // whole UTF-8
  return std::string(line.substr(0, end)) + "...";
}

std::string joined(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  }
  return text;
}

std::string how_it_ended(const Case& end) {
  if (end.log_only) return {};
  const auto* exited = std::get_if<process::Exited>(&end.ending().leader);
  if (exited == nullptr) return signal_name(end.signal.value_or(0));
  if (!end.signal) return fmt::format("exit code {}", exited->code);
  return fmt::format("{} reported {}: {}", program_of(end.ending()), exited->code,
                     signal_name(*end.signal));
}

std::string decisive_line(const Case& end) {
  if (!end.sign) return {};
  std::string text = shortened(end.sign->line);
  if (!end.sign->place.empty()) text += fmt::format(" ({})", end.sign->place);
  return text;
}

std::string output_says(const Case& end) {
  return end.sign ? "the output says: " + decisive_line(end) : "";
}

std::string peak_memory(const Case& end) {
  const auto& memory = end.memory();
  if (!memory.peak_bytes) return {};
  std::string text = "peak " + format_bytes(*memory.peak_bytes);
  if (memory.limit_bytes) text += " of " + format_bytes(*memory.limit_bytes);
  return text;
}

std::optional<Verdict> judge_log(std::string_view output) {
  Evidence evidence;
  evidence.ending.leader = process::Exited{1};  // a user asks about a log because of a failure
  const Case end{.known = evidence, .sign = decisive_sign(output), .log_only = true};
  if (!end.sign) return {};
  for (const auto question : kQuestions) {
    if (auto verdict = question(end)) return verdict;
  }
  return judge_exit_code(end);
}

Verdict judge(const Evidence& evidence) {
  const process::Ending& ending = evidence.ending;
  Case end{.known = evidence, .signal = ending_signal(ending.leader)};
  if (const auto* start = std::get_if<process::NotStarted>(&ending.leader)) {
    return judge_not_started(end, *start);
  }
  end.sign = decisive_sign(ending.output_tail);
  if (auto verdict = judge_cut(end)) return *verdict;
  if (process::hit_own_limit(ending)) return judge_own_limit(end);
  const auto* exited = std::get_if<process::Exited>(&ending.leader);
  const bool is_zero = exited != nullptr && exited->code == 0;
  const bool is_hidden =
      is_zero && end.sign && end.sign->sign != Sign::fallout && hides_failures_in_a_pipe(ending);
  if (is_zero && !is_hidden) return judge_success(end);
  for (const auto question : kQuestions) {
    if (auto verdict = question(end)) return *verdict;
  }
  return judge_exit_code(end);
}

}  // namespace plimsoll::diagnosis
