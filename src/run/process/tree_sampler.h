// Measures what the processes of a tree use: at one moment, and over a run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "process/ending.h"
#include "process/proc_stat.h"
#include "process/tree.h"
#include "process/tree_group.h"

namespace plimsoll::process {

// What the processes of a tree use at one moment.
struct TreeUsage {
  // A page that several processes share counts once for each: an upper bound, but cheap to get.
  uint64_t resident_bytes = 0;
  uint64_t cpu_ticks = 0;
  pid_t largest_pid = 0;
  uint64_t largest_bytes = 0;
};
TreeUsage usage_of(const std::vector<ProcessStat>& processes);

// Their memory, with shared pages counted once. Takes milliseconds for large processes.
uint64_t proportional_bytes(const std::vector<ProcessStat>& processes);

// All bytes that they passed to write(), to any file or stream. Use it only to compare with an
// earlier reading.
uint64_t written_bytes(const std::vector<ProcessStat>& processes);

struct TreeSamplerOptions {
  MemoryGroup group;                    // counts the tree's memory; its folder may be empty
  std::optional<uint64_t> limit_bytes;  // watched here if no group enforces it
  bool enforced_by_kernel = false;
  // After this long without output, CPU use and device use, the tree counts as hung.
  std::optional<double> idle_seconds;
  std::function<std::optional<uint64_t>()> output_bytes;  // its output so far, if observable
  std::function<bool()> busy_elsewhere;  // whether a GPU computes for it; may be empty
};

// Samples a running tree: its memory, its largest process, whether it still does anything. The
// interval adapts: short after the start and near the limit, and always long enough that sampling
// takes only a small share of one CPU.
class TreeSampler {
 public:
  using Clock = std::chrono::steady_clock;
  explicit TreeSampler(TreeSamplerOptions options);

  Clock::time_point next_sample() const { return next_; }

  // Takes a sample and returns what to do: end the tree because of its memory, end it because it
  // hangs, or Cut::none.
  Cut sample(const Tree& tree, Clock::time_point now);

  // Fills in what was sampled and what the group counted. Call it before the group is removed.
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
  // Since when the tree has done nothing, and its counters at that time.
  std::optional<Clock::time_point> still_since_;
  uint64_t still_cpu_ticks_ = 0;
  uint64_t still_output_bytes_ = 0;
};

}  // namespace plimsoll::process
