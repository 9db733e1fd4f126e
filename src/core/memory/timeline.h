// The memory of a run over time, in a bounded number of samples, to plot with the limit: in all,
// and by the tags of its leases.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "memory/ledger.h"

namespace plimsoll::memory {

// At most `capacity` samples, however many are added. When they are full, every two become one: the
// time of the first, the larger of the figures, so that a peak is never lost. A Sample has
// `absorb(later)`, which takes the larger figures of the two.
template <typename Sample>
class ThinnedSeries {
 public:
  explicit ThinnedSeries(size_t capacity) : capacity_(std::max<size_t>(2, capacity / 2 * 2)) {
    samples_.reserve(capacity_);
  }

  void add(Sample sample) {
    if (in_last_ > 0 && in_last_ < per_sample_) {
      samples_.back().absorb(sample);
      ++in_last_;
      return;
    }
    if (samples_.size() == capacity_) halve();
    samples_.push_back(std::move(sample));
    in_last_ = 1;
  }
  const std::vector<Sample>& samples() const { return samples_; }

 private:
  void halve() {
    for (size_t i = 0; i < capacity_ / 2; ++i) {
      Sample kept = std::move(samples_[2 * i]);
      kept.absorb(samples_[2 * i + 1]);
      samples_[i] = std::move(kept);
    }
    samples_.resize(capacity_ / 2);
    per_sample_ *= 2;
  }

  size_t capacity_;          // even
  uint64_t per_sample_ = 1;  // readings per stored sample
  uint64_t in_last_ = 0;     // readings in the last one
  std::vector<Sample> samples_;
};

struct MemorySample {
  double seconds = 0;         // since the start
  uint64_t ledger_bytes = 0;  // what is lent
  uint64_t resident_bytes = 0;
  bool operator==(const MemorySample&) const = default;
  void absorb(const MemorySample& later);
};
using SampleSeries = ThinnedSeries<MemorySample>;

// Samples ten times a second on a thread of its own until it ends. 96 KiB: all of the first seven
// minutes, and at least 2048 samples of longer runs. The ledger must outlive it.
class Timeline {
 public:
  static constexpr std::chrono::milliseconds kInterval{100};
  static constexpr size_t kCapacity = 4096;

  explicit Timeline(const Ledger& ledger);

  std::vector<MemorySample> samples() const;  // may be asked at any time

 private:
  void sample();

  const Ledger& ledger_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;  // guards series_
  SampleSeries series_{kCapacity};
  Ticker ticker_;  // last: it uses all of the above
};

struct TagSample {
  double seconds = 0;  // since the start
  uint64_t resident_bytes = 0;
  std::vector<uint64_t> tag_bytes;  // by the order of tags(); a shorter one has 0 of the rest
  void absorb(const TagSample& later);
};

// The memory of each tag. At most kMostTags of them: all others are added up as the last one.
class TagSeries {
 public:
  static constexpr size_t kMostTags = 16;
  static constexpr const char* kOtherTags = "other leases";

  explicit TagSeries(size_t capacity) : series_(capacity) {}

  void add(double seconds, uint64_t resident_bytes, const std::vector<Ledger::Usage>& usage);
  const std::vector<std::string>& tags() const { return tags_; }  // by their first appearance
  const std::vector<TagSample>& samples() const { return series_.samples(); }

 private:
  size_t place_of(const std::string& tag);

  std::vector<std::string> tags_;
  ThinnedSeries<TagSample> series_;
};

}  // namespace plimsoll::memory
