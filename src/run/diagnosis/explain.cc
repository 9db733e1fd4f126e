#include "diagnosis/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <csignal>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/nearest.h"
#include "base/units.h"
#include "process/ending.h"

namespace plimsoll::diagnosis {
namespace {

constexpr int kHighestCode = 255;
constexpr int kHighestSignal = 64;

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::optional<Code> parse_slurm(std::string_view text, size_t colon) {
  const auto exit_code = whole_number(text.substr(0, colon));
  const auto signal = whole_number(text.substr(colon + 1));
  if (!exit_code || !signal || *exit_code < 0 || *signal < 0) return {};
  if (*exit_code > kHighestCode || *signal > kHighestCode) return {};
  Code code{.text = std::string(text), .exit_code = *exit_code, .from_slurm = true};
  code.signal = *signal > 0 ? std::optional(*signal) : signal_behind(*exit_code);
  return code;
}

std::optional<int> signal_named(std::string_view text) {
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (int number = 1; number <= kHighestSignal; ++number) {
    const char* name = sigabbrev_np(number);
    if (name != nullptr && text == name) return number;
  }
  return {};
}

std::string headline_of(const Code& code) {
  if (code.state) {
    const bool in_full = code.text.starts_with(code.state->name);
    return fmt::format("{}{}: the job {}", code.text,
                       in_full ? "" : fmt::format(" = {}", code.state->name), code.state->meaning);
  }
  if (code.from_slurm && code.signal == kSlurmOutOfMemory) {
    return fmt::format("{}: Slurm's code for a job that ran out of memory", code.text);
  }
  if (!code.signal) {
    if (code.exit_code == 0) return fmt::format("{}: the command succeeded", code.text);
    if (code.exit_code == process::kExitHung || code.exit_code == process::kExitMemoryLimit) {
      return fmt::format("{}: the exit code of plimsoll exec when it ends a command", code.text);
    }
    return fmt::format("{}: the command ended by itself with exit code {}", code.text,
                       code.exit_code);
  }
  const std::string name = signal_name(*code.signal);
  const bool added = code.exit_code == 128 + *code.signal;
  return fmt::format("{}{}: the command was ended by {}{}", code.text,
                     added ? fmt::format(" = 128 + {}", *code.signal) : "", name,
                     code.signal == SIGKILL ? ", which no program can catch" : "");
}

}  // namespace

std::optional<Code> parse_code(std::string_view text) {
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    return parse_slurm(text, colon);
  }
  Code code{.text = std::string(text)};
  if (const auto signal = signal_named(text)) {
    code.signal = signal;
    return code;
  }
  if (const auto state = slurm_state(text)) {
    code.state = state;
    return code;
  }
  const auto number = whole_number(text);
  if (!number || *number > kHighestCode || *number < -kHighestSignal) return {};
  if (*number < 0) {  // Python's subprocess reports signal n as -n
    code.signal = -*number;
  } else {
    code.exit_code = *number;
    code.signal = signal_behind(*number);
  }
  return code;
}

std::optional<std::string> nearest_code(std::string_view text) {
  std::string capitals(text);
  std::ranges::transform(capitals, capitals.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  std::vector<std::string> known = slurm_state_names();
  for (int number = 1; number <= kHighestSignal; ++number) {
    if (const char* name = sigabbrev_np(number)) known.push_back(std::string("SIG") + name);
  }
  return nearest(capitals, known);
}

Explanation explain(const Code& code, const Circumstances& now) {
  Explanation explanation{.headline = headline_of(code), .causes = causes_of(code, now)};
  if (code.state) explanation.introduction = "Usual causes, the likeliest first:";
  std::ranges::stable_sort(explanation.causes, std::ranges::greater{}, &LikelyCause::weight);
  return explanation;
}

std::string describe(const Explanation& explanation) {
  std::string text = explanation.headline;
  if (!explanation.causes.empty()) text += "\n" + explanation.introduction;
  int number = 0;
  for (const LikelyCause& cause : explanation.causes) {
    text += fmt::format("\n{}. {}", ++number, cause.what);
    if (!cause.evidence.empty()) text += "\n   " + cause.evidence;
    if (!cause.next_step.empty()) text += "\n   try: " + cause.next_step;
  }
  return text;
}

nlohmann::ordered_json to_json(const Explanation& explanation) {
  auto causes = nlohmann::ordered_json::array();
  for (const LikelyCause& cause : explanation.causes) {
    causes.push_back(
        {{"what", cause.what}, {"evidence", cause.evidence}, {"next_step", cause.next_step}});
  }
  return {{"headline", explanation.headline}, {"causes", causes}};
}

}  // namespace plimsoll::diagnosis
