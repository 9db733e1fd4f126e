// The nodes that a batch has met, and their numbers within the batch: a hash table with open
// addressing, linear probing and at least two slots per node. It is small enough for the
// second-level cache; an array as long as the graph would miss the cache at every access.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "memory/growing.h"

namespace plimsoll::sample {

constexpr uint64_t kTableAhead = 16;  // how many nodes ahead to prefetch its slots

class NodeTable {
 public:
  explicit NodeTable(memory::Ledger& ledger) : slots_(ledger, "sampling") { resize(kLeastSlots); }

  // The memory it takes with room for `nodes` nodes.
  static uint64_t bytes_needed(uint64_t nodes) {
    return memory::Growing<Slot>::renewed_bytes(std::max(kLeastSlots, std::bit_ceil(nodes * 2)));
  }

  // Removes all nodes and makes room for `nodes` nodes.
  void clear(uint64_t nodes) {
    count_ = 0;
    // False after release() or after a refused lease.
    const bool has_room = slots_.capacity() >= slot_count();
    if (nodes * 2 > slot_count() || !has_room) {
      resize(std::max(kLeastSlots, std::bit_ceil(nodes * 2)));
    } else {
      std::memset(slots_.data(), 0xff, slot_count() * sizeof(Slot));
    }
  }
  // Releases its memory; call clear() before using it again.
  void release() { slots_.release(); }
  // Makes room for `nodes` nodes in all.
  void reserve(uint64_t nodes) {
    if (nodes * 2 > slot_count()) rehash(std::bit_ceil(nodes * 2));
  }

  void prefetch(uint32_t node) const { __builtin_prefetch(&slots_[home(node)]); }

  // The node's number. A new node gets the next free number.
  uint32_t number(uint32_t node) {
    uint64_t i = home(node);
    for (;; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      if (slot.node == node) return slot.number;
      if (slot.node == kNoNode) {
        slot = {node, count_};
        return count_++;
      }
    }
  }
  uint32_t count() const { return count_; }

 private:
  static constexpr uint32_t kNoNode = UINT32_MAX;  // a store has fewer nodes
  static constexpr uint64_t kLeastSlots = 1024;
  struct Slot {
    uint32_t node;
    uint32_t number;
  };

  uint64_t slot_count() const { return mask_ + 1; }
  uint64_t home(uint32_t node) const { return (node * 0x9e3779b97f4a7c15U) >> shift_; }
  void resize(uint64_t slots) {
    slots_.renew(slots);
    mask_ = slots - 1;
    shift_ = 64 - std::countr_zero(slots);
    std::memset(slots_.data(), 0xff, slots * sizeof(Slot));
  }
  void rehash(uint64_t slots) {
    memory::Growing<Slot> old = std::move(slots_);
    const uint64_t old_count = slot_count();
    slots_ = old.empty_copy();
    resize(slots);
    for (uint64_t i = 0; i < old_count; ++i) {
      if (old[i].node == kNoNode) continue;
      uint64_t place = home(old[i].node);
      while (slots_[place].node != kNoNode) place = (place + 1) & mask_;
      slots_[place] = old[i];
    }
  }

  memory::Growing<Slot> slots_;
  uint64_t mask_ = 0;
  int shift_ = 0;
  uint32_t count_ = 0;
};

}  // namespace plimsoll::sample
