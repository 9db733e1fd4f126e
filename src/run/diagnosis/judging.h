// Shared by the parts of judge(): what is known about an end, looked at once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "diagnosis/log_signs.h"
#include "diagnosis/verdict.h"

namespace plimsoll::diagnosis {

struct Case {
  const Evidence& known;
  std::optional<int> signal = {};    // that ended the command, unwrapped from a shell's 128 + n
  std::optional<Finding> sign = {};  // of the output
  bool log_only = false;             // nothing else is known: no exit code, no time

  const process::Ending& ending() const { return known.ending; }
  const process::MemoryFacts& memory() const { return known.ending.memory; }
  bool says(Sign wanted) const { return sign && sign->sign == wanted; }
  std::string after() const;  // " after 41 s"
};

std::string duration(double seconds);          // "4.2 s", "41 s", "3 min 12 s"
std::string shortened(std::string_view line);  // to what fits beside other words
std::string how_it_ended(const Case& end);     // "exit code 1", "bash reported 137: SIGKILL"
std::string output_says(const Case& end);      // "the output says: ..."; empty without a sign
std::string peak_memory(const Case& end);      // "peak 3.2 GiB of 16.0 GiB"; empty if unknown
// Joins what is not empty by "; ".
std::string joined(std::initializer_list<std::string> parts);

// Each gives a verdict where the case is one of its own.
std::optional<Verdict> judge_cut(const Case& end);
std::optional<Verdict> judge_memory(const Case& end);
Verdict judge_own_limit(const Case& end);  // it is known to be --memory
std::optional<Verdict> judge_gpu(const Case& end);
std::optional<Verdict> judge_signal(const Case& end);
std::optional<Verdict> judge_surroundings(const Case& end);  // disk, shared memory, dependencies
Verdict judge_exit_code(const Case& end);

}  // namespace plimsoll::diagnosis
