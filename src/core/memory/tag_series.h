// The memory of a run over time, by the tags of its leases, in a bounded number of samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/ledger.h"

namespace plimsoll::memory {

struct TagSample {
  double seconds = 0;  // since the start
  uint64_t resident_bytes = 0;
  std::vector<uint64_t> tag_bytes;  // by the order of tags(); a shorter one has 0 of the rest
};

// At most `capacity` samples and kMostTags tags, however many are added. When they are full, every
// two samples become one: the time of the first, the larger of the figures, so that a peak is never
// lost. Tags beyond the most are added up as the last one.
class TagSeries {
 public:
  static constexpr size_t kMostTags = 16;
  static constexpr const char* kOtherTags = "other leases";

  explicit TagSeries(size_t capacity);

  void add(double seconds, uint64_t resident_bytes, const std::vector<Ledger::Usage>& usage);
  const std::vector<std::string>& tags() const { return tags_; }  // by their first appearance
  const std::vector<TagSample>& samples() const { return samples_; }

 private:
  size_t place_of(const std::string& tag);

  size_t capacity_;          // even
  uint64_t per_sample_ = 1;  // readings per stored sample
  uint64_t in_last_ = 0;     // readings in the last one
  std::vector<std::string> tags_;
  std::vector<TagSample> samples_;
};

}  // namespace plimsoll::memory
