// The plan of a training run, made before anything is allocated: whether it fits into the memory
// limit, and what it will hold in memory. Pure functions: values in, values out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/arrangement.h"
#include "plan/gpu_layout.h"
#include "plan/lines.h"
#include "plan/probe.h"
#include "plan/question.h"
#include "plan/timing.h"

namespace plimsoll::plan {

// Memory that stays free below the limit for what the ledger does not count: page tables, the heap,
// kernel memory.
constexpr uint64_t kLeastHeadroomBytes = uint64_t{48} << 20;
constexpr double kHeadroomShare = 0.03;
uint64_t headroom_bytes(uint64_t limit_bytes);

struct MemoryPart {
  std::string name;
  uint64_t bytes = 0;
  std::string note;
};

// If a plan does not fit, its arrangement, parts and peak are those for the least possible memory.
struct Plan {
  bool fits = false;
  uint64_t limit_bytes = 0;
  uint64_t minimum_bytes = 0;  // the least limit that fits
  Arrangement arrangement;
  std::vector<MemoryPart> parts;  // they add up to the peak
  uint64_t peak_bytes = 0;
  uint64_t runtime_bytes = 0;     // of one rank: program and libraries, leased as a whole
  uint64_t needed_bytes = 0;      // part of the peak that cannot be released during the run
  unsigned host_ranks = 1;        // how many ranks the limit, the parts and the peak are for
  uint64_t full_batch_bytes = 0;  // peak to evaluate one node with all its neighbours
  // The share of each file that is resident (in memory).
  double adjacency_resident = 1;
  double features_resident = 1;
  Reads reads;                  // per batch: what is not resident
  DiskWork disk;                // per batch: what the disk does for that
  uint64_t batches = 0;         // per epoch
  double seconds_an_epoch = 0;  // 0 if the machine has not been measured
  bool gpu = false;             // a GPU computes
  GpuLayout on_gpu;             // then: what it holds, and whether it makes the batches
  double other_load = 0;        // cores that other programs used during the measurement; 0 = few
  uint64_t pyg_bytes = 0;

  bool reads_disk() const { return reads.all() > 0; }
  double rows_an_epoch() const { return reads.rows * static_cast<double>(batches); }
  double lists_an_epoch() const { return reads.lists * static_cast<double>(batches); }
};

// What the memory of a GPU that makes the batches holds; the parts add up to its peak.
std::vector<MemoryPart> gpu_parts(const GpuLayout& gpu);

// With more memory, the expected epoch of a plan that reads from disk is not longer, within a
// tenth. Without windows, such a plan never reads more.
Plan make_plan(const Question& question);

// The limit of one rank's ledger: the lines, which the ranks of a host share, and its part of the
// rest.
uint64_t ledger_bytes(const Plan& plan);

// The least limit that fits: make_plan(question).minimum_bytes, without the rest of the plan.
uint64_t minimum_bytes(const Question& question);

}  // namespace plimsoll::plan
