// The memory of a run over time, in a bounded number of samples, to plot with the limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/ticker.h"
#include "memory/ledger.h"

namespace plimsoll::memory {

struct MemorySample {
  double seconds = 0;         // since the start
  uint64_t ledger_bytes = 0;  // what is lent
  uint64_t resident_bytes = 0;
  bool operator==(const MemorySample&) const = default;
};

// At most `capacity` samples, however many are added. When they are full, every two become one: the
// time of the first, the larger of the figures, so that a peak is never lost.
class SampleSeries {
 public:
  explicit SampleSeries(size_t capacity);

  void add(const MemorySample& sample);
  const std::vector<MemorySample>& samples() const { return samples_; }

 private:
  size_t capacity_;          // even
  uint64_t per_sample_ = 1;  // readings per stored sample
  uint64_t in_last_ = 0;     // readings in the last one
  std::vector<MemorySample> samples_;
};

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

}  // namespace plimsoll::memory
