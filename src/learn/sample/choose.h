// Which neighbours of a list a node takes: a pure function of the node, the list and a key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "memory/growing.h"
#include "memory/ledger.h"
#include "recipe/recipe.h"
#include "sample/topology.h"

namespace plimsoll::sample {

constexpr uint64_t kMostLooked = 4096;  // the longest list that LABOR reads as a whole

// Lists are read in groups: first the positions of all its lists are drawn and prefetched.
constexpr uint32_t kGroup = 64;
constexpr uint64_t kMostPlaces = 1 << 18;  // per group; the last list may exceed it

// For one thread.
class Chooser {
 public:
  Chooser(recipe::Draw draw, memory::Ledger& ledger)
      : draw_(draw), chosen_(ledger, "sampling"), numbers_(ledger, "sampling") {}

  // How many neighbours a node takes, and how many of the list it reads to choose them.
  static uint32_t taken(const ListBounds& list, uint32_t fanout) {
    return static_cast<uint32_t>(std::min<uint64_t>(fanout, list.degree));
  }
  uint32_t read(const ListBounds& list, uint32_t fanout) const {
    const bool whole = draw_ == recipe::Draw::labor && list.degree <= kMostLooked;
    return whole ? static_cast<uint32_t>(list.degree) : taken(list, fanout);
  }
  // Leases the memory for lists of up to that length; choose() and keep() then take none.
  void prepare(uint64_t longest_list, uint32_t fanout);
  static uint64_t bytes_needed(recipe::Draw draw);

  // The positions to read, in the neighbours file; `places` has room for read().
  void choose(uint32_t node, const ListBounds& list, uint32_t fanout, uint64_t key,
              uint64_t* places) const;
  // Selects what the node takes from the values at these positions, in the order of the list.
  void keep(std::span<const uint32_t> values, uint32_t count, uint64_t key, uint32_t* picked) const;

  void release() {
    chosen_.release();
    numbers_.release();
  }

 private:
  static void choose_some(const ListBounds& list, uint32_t count, uint64_t node_key,
                          uint64_t* places);
  void choose_many(const ListBounds& list, uint32_t count, uint64_t node_key,
                   uint64_t* places) const;

  recipe::Draw draw_;
  memory::Growing<uint64_t> chosen_;   // one bit per position of a list, for large fan-outs
  memory::Growing<uint64_t> numbers_;  // LABOR: the numbers of one list, with positions
};

}  // namespace plimsoll::sample
