#include "ingest/lists.h"

namespace plimsoll::ingest {

void Lists::add(Segment segment, const std::byte* neighbors) {
  if (segment.neighbors == 0) return;
  const uint64_t bytes = io::round_up_to_block(segment.neighbors * 4);
  {
    const std::lock_guard lock(mutex_);
    segment.offset_bytes = end_bytes_;
    end_bytes_ += bytes;
    edges_ += segment.neighbors;
    segments_.push_back(segment);
  }
  file_.write({neighbors, bytes}, segment.offset_bytes);
}

void Lists::release(const Segment& segment) {
  file_.release(segment.offset_bytes, io::round_up_to_block(segment.neighbors * 4));
}

}  // namespace plimsoll::ingest
