#include "memory/tag_series.h"

#include <algorithm>
#include <utility>

namespace plimsoll::memory {
namespace {

void absorb_tags(TagSample& sample, const TagSample& later) {
  sample.resident_bytes = std::max(sample.resident_bytes, later.resident_bytes);
  sample.tag_bytes.resize(std::max(sample.tag_bytes.size(), later.tag_bytes.size()));
  for (size_t i = 0; i < later.tag_bytes.size(); ++i) {
    sample.tag_bytes[i] = std::max(sample.tag_bytes[i], later.tag_bytes[i]);
  }
}

}  // namespace

TagSeries::TagSeries(size_t capacity) : capacity_(std::max<size_t>(2, capacity / 2 * 2)) {
  samples_.reserve(capacity_);
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
  if (in_last_ > 0 && in_last_ < per_sample_) {
    absorb_tags(samples_.back(), sample);
    ++in_last_;
    return;
  }
  if (samples_.size() == capacity_) {
    for (size_t i = 0; i < capacity_ / 2; ++i) {
      TagSample kept = std::move(samples_[2 * i]);
      absorb_tags(kept, samples_[2 * i + 1]);
      samples_[i] = std::move(kept);
    }
    samples_.resize(capacity_ / 2);
    per_sample_ *= 2;
  }
  samples_.push_back(std::move(sample));
  in_last_ = 1;
}

}  // namespace plimsoll::memory
