// Which reads bring some wanted parts of a file in the least time. A disk takes some time for every
// request and some for every byte. So two wanted parts are read by one request if the bytes between
// them take less time than another request: sparse parts stay single reads, dense parts become
// streams.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "io/file.h"

namespace plimsoll::io {

struct ReadPrice {
  double request_seconds = 1e-5;
  double byte_seconds = 1e-9;

  bool operator==(const ReadPrice&) const = default;
  // The most bytes between two wanted parts that are read rather than skipped.
  uint64_t widest_gap_bytes() const {
    constexpr double kMost = 1e18;
    const double bytes = byte_seconds <= 0 ? kMost : request_seconds / byte_seconds;
    return static_cast<uint64_t>(std::min(bytes, kMost));
  }
};

struct Extent {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t end() const { return offset + bytes; }
  bool operator==(const Extent&) const = default;
};

struct ReadRules {
  ReadPrice price;
  uint64_t alignment = 1;
  // Of one request, unless a single wanted part is longer or begins in the last sector of the part
  // before it.
  uint64_t most_bytes = kStreamBytes;

  // The sectors that a wanted part lies in.
  Extent around(const Extent& wanted) const;
  // Whether `next` belongs into the same request; both are whole sectors, in ascending order.
  bool joins(const Extent& open, const Extent& next) const;
};

// The requests for these parts, which are in ascending order. No byte is read twice.
std::vector<Extent> plan_reads(const ReadRules& rules, std::span<const Extent> wanted);

}  // namespace plimsoll::io
