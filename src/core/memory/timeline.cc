#include "memory/timeline.h"

#include "memory/usage.h"

namespace plimsoll::memory {

void MemorySample::absorb(const MemorySample& later) {
  ledger_bytes = std::max(ledger_bytes, later.ledger_bytes);
  resident_bytes = std::max(resident_bytes, later.resident_bytes);
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

void TagSample::absorb(const TagSample& later) {
  resident_bytes = std::max(resident_bytes, later.resident_bytes);
  tag_bytes.resize(std::max(tag_bytes.size(), later.tag_bytes.size()));
  for (size_t i = 0; i < later.tag_bytes.size(); ++i) {
    tag_bytes[i] = std::max(tag_bytes[i], later.tag_bytes[i]);
  }
}

size_t TagSeries::place_of(const std::string& tag) {
  const auto found = std::find(tags_.begin(), tags_.end(), tag);
  if (found != tags_.end()) return static_cast<size_t>(found - tags_.begin());
  if (tags_.size() + 1 < kMostTags) {
    tags_.push_back(tag);
  } else if (tags_.size() < kMostTags) {
    tags_.emplace_back(kOtherTags);
  }
  return tags_.size() - 1;
}

void TagSeries::add(double seconds, uint64_t resident_bytes,
                    const std::vector<Ledger::Usage>& usage) {
  TagSample sample{.seconds = seconds, .resident_bytes = resident_bytes};
  for (const Ledger::Usage& one : usage) {
    const size_t place = place_of(one.tag);
    if (sample.tag_bytes.size() <= place) sample.tag_bytes.resize(place + 1);
    sample.tag_bytes[place] += one.bytes;
  }
  series_.add(std::move(sample));
}

}  // namespace plimsoll::memory
