#include "memory/timeline.h"

#include <algorithm>

#include "memory/usage.h"

namespace plimsoll::memory {
namespace {

// `later` is lost in `sample`.
void absorb(MemorySample& sample, const MemorySample& later) {
  sample.ledger_bytes = std::max(sample.ledger_bytes, later.ledger_bytes);
  sample.resident_bytes = std::max(sample.resident_bytes, later.resident_bytes);
}

}  // namespace

SampleSeries::SampleSeries(size_t capacity) : capacity_(std::max<size_t>(2, capacity / 2 * 2)) {
  samples_.reserve(capacity_);
}

void SampleSeries::add(const MemorySample& sample) {
  if (in_last_ > 0 && in_last_ < per_sample_) {
    absorb(samples_.back(), sample);
    ++in_last_;
    return;
  }
  if (samples_.size() == capacity_) {
    for (size_t i = 0; i < capacity_ / 2; ++i) {
      samples_[i] = samples_[2 * i];
      absorb(samples_[i], samples_[2 * i + 1]);
    }
    samples_.resize(capacity_ / 2);
    per_sample_ *= 2;
  }
  samples_.push_back(sample);
  in_last_ = 1;
}

Timeline::Timeline(const Ledger& ledger)
    : ledger_(ledger), ticker_(kInterval, [this] { sample(); }) {}

std::vector<MemorySample> Timeline::samples() const {
  const std::lock_guard lock(mutex_);
  return series_.samples();
}

void Timeline::sample() {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const MemorySample sample = {.seconds = seconds,
                               .ledger_bytes = ledger_.used_bytes(),
                               .resident_bytes = process_usage().resident_bytes};
  const std::lock_guard lock(mutex_);
  series_.add(sample);
}

}  // namespace plimsoll::memory
