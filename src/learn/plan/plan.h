// The plan of a run: whether it fits, into how much, and if not, what would.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/arrangement.h"
#include "plan/lines.h"
#include "plan/probe.h"
#include "plan/question.h"

namespace plimsoll::plan {

// The plan of a training: what it will hold in memory and where the lines go, before anything is
// allocated. Pure: values in, a value out.

// Kept free below the limit for what no ledger sees: page tables, the heap, the kernel's own.
constexpr uint64_t kLeastHeadroomBytes = uint64_t{48} << 20;
constexpr double kHeadroomShare = 0.03;
uint64_t headroom_bytes(uint64_t limit_bytes);

struct MemoryPart {
  std::string name;
  uint64_t bytes = 0;
  std::string note;
};

// Of a plan that does not fit, arrangement, parts and peak are those of the least memory.
struct Plan {
  bool fits = false;
  uint64_t limit_bytes = 0;
  uint64_t minimum_bytes = 0;  // the least limit that fits
  Arrangement arrangement;
  std::vector<MemoryPart> parts;  // they add up to the peak
  uint64_t peak_bytes = 0;
  uint64_t runtime_bytes = 0;     // of the peak, what is not lent by name
  uint64_t needed_bytes = 0;      // of the peak, what it cannot give back while it runs
  uint64_t full_batch_bytes = 0;  // what a node with all its neighbours takes at most, evaluated
  // Of each file, the share that is resident.
  double adjacency_resident = 1;
  double features_resident = 1;
  Reads reads;                  // of a batch
  uint64_t batches = 0;         // an epoch
  double seconds_an_epoch = 0;  // 0 where the machine's rates are not known
  bool gpu = false;             // computes
  double other_load = 0;        // cores that others used while the machine was measured; 0 = few
  uint64_t pyg_bytes = 0;

  bool reads_disk() const { return reads.all() > 0; }
  double rows_an_epoch() const { return reads.rows * static_cast<double>(batches); }
  double lists_an_epoch() const { return reads.lists * static_cast<double>(batches); }
};

// More memory never means that more is read.
Plan make_plan(const Question& question);

// The least limit that this fits in; that of make_plan(question), without the rest.
uint64_t minimum_bytes(const Question& question);

// What would make a training fit that does not: each thing the user can lower, with the least
// memory it then needs. Computed like the plan itself.

struct Remedy {
  std::string options;         // "--batch-size 256", as on the command line
  uint64_t minimum_bytes = 0;  // with them
  bool enough = false;         // for the limit
};

// Ever smaller fan-outs of as many layers, down to one neighbour each: 15,10 -> 8,5 -> 4,3 -> ...
std::vector<std::vector<uint32_t>> smaller_fanouts(const std::vector<uint32_t>& fanout);

struct FanoutDraws {
  std::vector<uint32_t> fanout;
  Draws draws;
};

// One for each of --batch-size, --fanout, --hidden and --workers that lowers the minimum: the
// largest value that is enough, else the smallest there is. Where none is enough, one more with all
// of them at their smallest. `smaller` are draws of smaller_fanouts(), in that order.
std::vector<Remedy> find_remedies(const Question& question, const Draws& draws,
                                  const std::vector<FanoutDraws>& smaller);

}  // namespace plimsoll::plan
