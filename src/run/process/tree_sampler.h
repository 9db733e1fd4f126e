// What the processes of a tree use: at one moment, and over a run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "process/ending.h"
#include "process/memory_group.h"
#include "process/proc_stat.h"
#include "process/tree.h"

namespace plimsoll::process {

// What the processes of a tree use at one moment: memory, CPU time, what they wrote.

struct TreeUsage {
  // Pages that several of them share count once for each: an upper bound, but cheap to know.
  uint64_t resident_bytes = 0;
  uint64_t cpu_ticks = 0;
  pid_t largest_pid = 0;
  uint64_t largest_bytes = 0;
};
TreeUsage usage_of(const std::vector<ProcessStat>& processes);

// Pages that several of them share count once. Milliseconds for large processes.
uint64_t proportional_bytes(const std::vector<ProcessStat>& processes);

// All that they passed to write(), to whatever it went; only to be compared with an earlier
// reading.
uint64_t written_bytes(const std::vector<ProcessStat>& processes);

// Looks at a running tree from time to time: its memory, its largest process, whether it still does
// anything. How often adapts: soon after the start, near the limit, and never so often that looking
// takes more than a small share of one CPU.

struct TreeSamplerOptions {
  MemoryGroup group;                    // counts the tree's memory; may be none
  std::optional<uint64_t> limit_bytes;  // watched here where no group enforces it
  bool enforced_by_kernel = false;
  std::optional<double>
      idle_seconds;  // after this long without output and CPU use it counts as hung
  std::function<std::optional<uint64_t>()> output_bytes;  // what is seen of its output
  std::function<bool()> busy_elsewhere;  // whether a device works for it; may be empty
};

class TreeSampler {
 public:
  using Clock = std::chrono::steady_clock;
  explicit TreeSampler(TreeSamplerOptions options);

  Clock::time_point next_sample() const { return next_; }

  // What the sample says to do, if anything: end the tree for its memory, or because it hangs.
  Cut sample(const Tree& tree, Clock::time_point now);

  // Adds what was seen and what the group counted. To be called before the group is removed.
  void fill(MemoryFacts& facts) const;

 private:
  bool over_limit(const std::vector<ProcessStat>& processes, uint64_t resident_bytes);
  bool is_hung(const std::vector<ProcessStat>& processes, uint64_t cpu_ticks,
               Clock::time_point now);
  void schedule(double cost_seconds, uint64_t resident_bytes);

  TreeSamplerOptions options_;
  std::chrono::milliseconds interval_{20};
  Clock::time_point next_;
  uint64_t host_oom_kills_before_;
  uint64_t peak_bytes_ = 0;
  std::string largest_process_;
  uint64_t largest_bytes_ = 0;
  // Since when nothing has happened, and what had happened until then.
  std::optional<Clock::time_point> still_since_;
  uint64_t still_cpu_ticks_ = 0;
  uint64_t still_output_bytes_ = 0;
};

}  // namespace plimsoll::process
