// The plan of a training: what it will hold in memory and where the lines go, before anything is
// allocated. Pure: values in, a value out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/arrangement.h"
#include "plan/lines.h"
#include "plan/question.h"

namespace plimsoll::plan {

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

}  // namespace plimsoll::plan
