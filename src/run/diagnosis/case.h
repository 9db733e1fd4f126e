// What the parts of judge() share: the known facts about an ending, prepared once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/log_signs.h"
#include "diagnosis/verdict.h"

namespace plimsoll::diagnosis {

struct Case {
  const Evidence& known;
  std::optional<int> signal = {};    // that ended the command; also from a shell's 128 + n
  std::optional<Finding> sign = {};  // the decisive line of the output
  bool log_only = false;             // only a log is known: no exit code, no duration

  const process::Ending& ending() const { return known.ending; }
  const process::MemoryFacts& memory() const { return known.ending.memory; }
  bool says(Sign wanted) const { return sign && sign->sign == wanted; }
  std::string after() const;  // " after 41 s"
};

std::string duration(double seconds);          // "4.2 s", "41 s", "3 min 12 s"
std::string shortened(std::string_view line);  // to at most 140 bytes and "..."
std::string how_it_ended(const Case& end);     // "exit code 1", "bash reported 137: SIGKILL"
std::string decisive_line(const Case& end);    // with its place; empty without a sign
std::string output_says(const Case& end);      // "the output says: ..."; empty without a sign
std::string peak_memory(const Case& end);      // "peak 3.2 GiB of 16.0 GiB"; empty if unknown
// Joins the non-empty parts with "; ".
std::string joined(std::initializer_list<std::string> parts);

// Each returns a verdict if it can explain the case.
std::optional<Verdict> judge_cut(const Case& end);
std::optional<Verdict> judge_memory(const Case& end);
Verdict judge_own_limit(const Case& end);  // call it only if --memory is known to be the cause
std::optional<Verdict> judge_gpu(const Case& end);
std::optional<Verdict> judge_signal(const Case& end);
std::optional<Verdict> judge_surroundings(const Case& end);  // disk, shared memory, dependencies
Verdict judge_exit_code(const Case& end);

// Suggestions for a command that ran out of memory: a smaller batch or a larger limit.

// "--batch-size 32 instead of 64" for a command with "--batch-size 64", "--batch_size=64" or
// "train.batch_size=64", also within `bash -c`; "--batch-size at half its value" if the command
// names none.
std::string smaller_batch(const std::vector<std::string>& command);

// "24G" for 16 GiB: 1.5 times as much, in whole GiB, or in whole MiB below 4 GiB. Nothing if that
// is more than `most_bytes`.
std::optional<std::string> larger_memory(uint64_t bytes, std::optional<uint64_t> most_bytes);

// "8G": at least `bytes`, in the form that the command line takes.
std::string rounded_up(uint64_t bytes);

}  // namespace plimsoll::diagnosis
