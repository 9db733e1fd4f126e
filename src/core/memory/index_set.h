// A set of numbers below some end, as a bit set with a count for every word, so that it can tell
// how many numbers of the set come before a given one.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <string_view>

#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::memory {

class IndexSet {
 public:
  IndexSet(Ledger& ledger, uint64_t end, std::string_view tag = "node sets")
      : end_(end), words_(ledger, tag, end / 64 + 1), before_(ledger, tag, end / 64 + 1) {}

  static uint64_t bytes_needed(uint64_t end) {
    return Buffer<uint64_t>::bytes_needed(end / 64 + 1) +
           Buffer<uint32_t>::bytes_needed(end / 64 + 1);
  }

  void add(uint64_t index) { words_[index / 64] |= uint64_t{1} << (index % 64); }
  // Like add(), but several threads may call it at the same time. True if it was not there before.
  bool add_shared(uint64_t index) {
    const uint64_t bit = uint64_t{1} << (index % 64);
    const std::atomic_ref<uint64_t> word(words_[index / 64]);
    if ((word.load(std::memory_order_relaxed) & bit) != 0) return false;
    return (word.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }
  bool has(uint64_t index) const { return (words_[index / 64] >> (index % 64) & 1) != 0; }
  // Begins to load the word of this number, for a has() or add() soon.
  void prefetch(uint64_t index) const { __builtin_prefetch(&words_[index / 64]); }
  void clear() { std::ranges::fill(words_.span(), 0); }
  uint64_t end() const { return end_; }

  // Call after the last add(), before size(), rank() and at().
  void count() {
    uint64_t sum = 0;
    for (uint64_t word = 0; word < words_.size(); ++word) {
      before_[word] = static_cast<uint32_t>(sum);
      sum += static_cast<uint64_t>(std::popcount(words_[word]));
    }
    size_ = sum;
  }
  uint64_t size() const { return size_; }
  // How many numbers of the set are less than this one.
  uint64_t rank(uint64_t index) const {
    const uint64_t below = (uint64_t{1} << (index % 64)) - 1;
    return before_[index / 64] + static_cast<uint64_t>(std::popcount(words_[index / 64] & below));
  }

  // The inverse of rank(): the number at `place` in ascending order, place < size().
  uint64_t at(uint64_t place) const {
    const auto* const after = std::upper_bound(before_.begin(), before_.end(), place);
    const auto word = static_cast<uint64_t>(after - before_.begin() - 1);
    uint64_t bits = words_[word];
    for (uint64_t left = place - before_[word]; left > 0; --left) bits &= bits - 1;
    return word * 64 + static_cast<uint64_t>(std::countr_zero(bits));
  }

  // The first number of the set that is not less than `index`; end() if there is none.
  uint64_t next(uint64_t index) const {
    if (index >= end_) return end_;
    uint64_t word = index / 64;
    uint64_t bits = words_[word] & (~uint64_t{0} << (index % 64));
    while (bits == 0) {
      if (++word == words_.size()) return end_;
      bits = words_[word];
    }
    return word * 64 + static_cast<uint64_t>(std::countr_zero(bits));
  }

 private:
  uint64_t end_;
  Buffer<uint64_t> words_;
  Buffer<uint32_t> before_;
  uint64_t size_ = 0;
};

}  // namespace plimsoll::memory
