// A set of a graph's nodes, as a bit set with a count for every 512 bits, so that it can tell how
// many nodes of the set come before a given one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::feature {

class NodeSet {
 public:
  NodeSet(memory::Ledger& ledger, uint64_t nodes)
      : nodes_(nodes),
        words_(ledger, "node sets", nodes / 64 + 1),
        before_(ledger, "node sets", nodes / kBlock + 2) {}

  static uint64_t bytes_needed(uint64_t nodes) {
    return memory::Buffer<uint64_t>::bytes_needed(nodes / 64 + 1) +
           memory::Buffer<uint32_t>::bytes_needed(nodes / kBlock + 2);
  }

  void add(uint64_t node) { words_[node / 64] |= uint64_t{1} << (node % 64); }
  bool has(uint64_t node) const { return (words_[node / 64] >> (node % 64) & 1) != 0; }
  uint64_t nodes() const { return nodes_; }

  // Call after the last add(), before size(), rank() and at().
  void count() {
    uint64_t sum = 0;
    for (uint64_t word = 0; word < words_.size(); ++word) {
      if (word % (kBlock / 64) == 0) before_[word * 64 / kBlock] = static_cast<uint32_t>(sum);
      sum += static_cast<uint64_t>(std::popcount(words_[word]));
    }
    size_ = sum;
  }
  uint64_t size() const { return size_; }
  // How many nodes of the set are less than this one.
  uint64_t rank(uint64_t node) const {
    uint64_t sum = before_[node / kBlock];
    for (uint64_t word = node / kBlock * (kBlock / 64); word < node / 64; ++word) {
      sum += static_cast<uint64_t>(std::popcount(words_[word]));
    }
    const uint64_t below = (uint64_t{1} << (node % 64)) - 1;
    return sum + static_cast<uint64_t>(std::popcount(words_[node / 64] & below));
  }

  // The inverse of rank(): the node at `index` in ascending order, index < size().
  uint64_t at(uint64_t index) const {
    const auto block =
        std::upper_bound(before_.begin(),
                         before_.begin() + (words_.size() * 64 + kBlock - 1) / kBlock, index) -
        before_.begin() - 1;
    uint64_t left = index - before_[static_cast<uint64_t>(block)];
    uint64_t word = static_cast<uint64_t>(block) * (kBlock / 64);
    for (; static_cast<uint64_t>(std::popcount(words_[word])) <= left; ++word) {
      left -= static_cast<uint64_t>(std::popcount(words_[word]));
    }
    uint64_t bits = words_[word];
    for (; left > 0; --left) bits &= bits - 1;
    return word * 64 + static_cast<uint64_t>(std::countr_zero(bits));
  }

  // The first node of the set that is not less than `node`; nodes() if there is none.
  uint64_t next(uint64_t node) const {
    for (uint64_t word = node / 64; word < words_.size(); ++word) {
      const uint64_t bits =
          words_[word] & (word == node / 64 ? ~uint64_t{0} << (node % 64) : ~uint64_t{0});
      if (bits != 0) return word * 64 + static_cast<uint64_t>(std::countr_zero(bits));
    }
    return nodes_;
  }

 private:
  static constexpr uint64_t kBlock = 512;

  uint64_t nodes_;
  memory::Buffer<uint64_t> words_;
  memory::Buffer<uint32_t> before_;
  uint64_t size_ = 0;
};

}  // namespace plimsoll::feature
