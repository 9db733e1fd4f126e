// Explains an exit code: its possible causes, the likeliest on this machine first. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/circumstances.h"
#include "diagnosis/slurm_states.h"

namespace plimsoll::diagnosis {

// How a command ended, in the forms that users see: "137", "-9" (Python), "SIGKILL", and Slurm's
// "0:9" and "0:125" (exit code and signal) or "OUT_OF_MEMORY" (a job's state).
struct Code {
  std::string text;
  int exit_code = 0;
  std::optional<int> signal;  // also n for a shell's 128 + n
  bool from_slurm = false;
  std::optional<SlurmState> state;  // if set, exit_code and signal are not
};
std::optional<Code> parse_code(std::string_view text);

// The signal or state most similar to a word that parse_code() does not know.
std::optional<std::string> nearest_code(std::string_view text);

struct LikelyCause {
  int weight = 0;  // larger is likelier; only the order counts
  std::string what;
  std::string evidence;   // may be empty
  std::string next_step;  // may be empty
};

struct Explanation {
  std::string headline;             // "137 = 128 + 9: the command was ended by SIGKILL, ..."
  std::vector<LikelyCause> causes;  // the likeliest first
  std::string introduction = "On this machine, now, the likeliest first:";  // before the causes
};

Explanation explain(const Code& code, const Circumstances& now);

std::string describe(const Explanation& explanation);
nlohmann::ordered_json to_json(const Explanation& explanation);

}  // namespace plimsoll::diagnosis
