#include "train/room_keeper.h"

#include <algorithm>
#include <span>

namespace plimsoll::train {

RoomKeeper::RoomKeeper(memory::Ledger& ledger, io::LinedFile& rows, uint64_t needed_bytes)
    : ledger_(ledger),
      rows_(rows),
      planned_limit_bytes_(ledger.limit_bytes()),
      planned_line_bytes_(rows.line_bytes()),
      needed_bytes_(needed_bytes),
      watch_([this](int64_t room_bytes) { adjust(room_bytes); }) {}

void RoomKeeper::adjust(int64_t room_bytes) {
  const uint64_t limit_bytes = ledger_.limit_bytes();
  if (room_bytes < 0) {
    const auto wanted = static_cast<uint64_t>(-room_bytes);
    const uint64_t used = ledger_.used_bytes();
    most_used_bytes_ = std::max(most_used_bytes_, used);
    const uint64_t lower = std::max(needed_bytes_, used > wanted ? used - wanted : 0);
    ledger_.set_limit(std::min(limit_bytes, lower));
    // Memory that could not be released stays within the limit.
    ledger_.set_limit(std::min(limit_bytes, std::max(ledger_.used_bytes(), ledger_.limit_bytes())));
    const uint64_t left = std::min(most_used_bytes_, ledger_.used_bytes());
    given_back_bytes_ = std::max(given_back_bytes_.load(), most_used_bytes_ - left);
    return;
  }
  if (limit_bytes >= planned_limit_bytes_) return;
  ledger_.set_limit(
      std::min(planned_limit_bytes_, limit_bytes + static_cast<uint64_t>(room_bytes)));
  rows_.raise(planned_line_bytes_, 1, [](std::span<const std::byte>) {});
}

}  // namespace plimsoll::train
