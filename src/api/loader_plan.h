// What a loader is asked to do, as values, and the plan for it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/residence.h"
#include "memory/limit.h"
#include "plan/plan.h"
#include "recipe/recipe.h"

namespace plimsoll::api {

enum class LabelScope { all, seeds, none };

struct LoaderOptions {
  std::vector<uint32_t> fanout;
  uint64_t batch_size = 1;
  std::string split;  // empty: `nodes`
  std::span<const int64_t>
      nodes;  // original ids in the caller's memory, read while a loader is made
  bool all_nodes = false;
  uint64_t seed = 0;
  std::optional<uint64_t> memory_bytes;
  unsigned workers = 0;
  unsigned threads = 1;
  unsigned held = 3;
  LabelScope labels = LabelScope::all;
  bool shuffle = false;
  bool drop_last = false;
  bool labor = false;
  bool every_hop = false;
  bool positions = false;
};

// Throws Error{usage} or Error{input} if the options do not fit together or to the store.
void check(const LoaderOptions& options, const graph::Store& store);

// The limit of the whole process: the given one if the surroundings allow as much; without one,
// what is free now and what the process already has.
memory::Limit process_limit(const std::optional<uint64_t>& memory_bytes);

// The nodes that a loader goes through, by position. Either owned or a table of the residence.
struct SeedList {
  memory::Buffer<uint32_t> owned;
  std::span<const uint32_t> nodes;
};
SeedList list_seeds(const LoaderOptions& options, Residence& residence);

// The plan for a loader of these nodes. It need not fit.
plan::Plan plan_loader(const LoaderOptions& options, Residence& residence,
                       std::span<const uint32_t> seeds);
// Throws Error{memory} with what is missing and the remedy if the plan does not fit.
void check_fits(const plan::Plan& plan, const HostShare& share);

}  // namespace plimsoll::api
