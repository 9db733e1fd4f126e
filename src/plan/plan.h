// The plan of a training: what it will hold in memory and where the lines go, before anything is
// allocated. Pure: values in, a value out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/arrangement.h"
#include "plan/footprint.h"
#include "plan/machine.h"
#include "plan/probe.h"
#include "plan/shape.h"
#include "recipe/recipe.h"

namespace plimsoll::plan {

// Kept free below the limit for what no ledger sees: page tables, the heap, the kernel's own.
constexpr uint64_t kLeastHeadroomBytes = uint64_t{48} << 20;
constexpr double kHeadroomShare = 0.03;
uint64_t headroom_bytes(uint64_t limit_bytes);

struct Question {
  StoreShape store;
  recipe::Recipe recipe;
  Probe probe;
  uint64_t limit_bytes = 0;
  uint64_t runtime_bytes = 0;
  unsigned threads = 1;
  unsigned workers = 0;  // 0 = chosen
  Machine machine;
};

struct Part {
  std::string name;
  uint64_t bytes = 0;
  std::string note;
};

struct Plan {
  bool fits = false;
  uint64_t limit_bytes = 0;
  uint64_t minimum_bytes = 0;  // the least limit that fits
  Arrangement arrangement;     // of a plan that fits
  std::vector<Part> parts;     // they add up to the peak
  uint64_t peak_bytes = 0;
  // Shares of visits that find what they need in memory.
  double offsets_hits = 1;
  double lists_hits = 1;
  double rows_hits = 1;
  double reads_a_batch = 0;
  double seconds_an_epoch = 0;
  uint64_t batches = 0;  // an epoch
  uint64_t pyg_bytes = 0;

  bool reads_disk() const { return reads_a_batch > 0; }
};

Plan make_plan(const Question& question);

}  // namespace plimsoll::plan
