#include "train/room_keeper.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>

namespace plimsoll::train {
namespace {

constexpr auto kFollowEvery = std::chrono::milliseconds(20);

}  // namespace

RoomKeeper::RoomKeeper(memory::Ledger& ledger, io::LinedFile& rows, uint64_t needed_bytes,
                       SharedLine* shared)
    : ledger_(ledger),
      rows_(rows),
      shared_(shared),
      planned_limit_bytes_(ledger.limit_bytes()),
      planned_line_bytes_(rows.line_bytes()),
      needed_bytes_(needed_bytes) {
  if (shared == nullptr || shared->leads()) {
    watch_.emplace([this](int64_t room_bytes) { adjust(room_bytes); });
  } else {
    follower_.emplace(kFollowEvery, [this] { follow(); });
  }
}

void RoomKeeper::rethrow_failure() const {
  if (watch_) watch_->rethrow_failure();
  if (follower_) follower_->rethrow_failure();
}

// The ledger lends what is planned, less what the line has given back.
void RoomKeeper::adjust_shared(int64_t room_bytes) {
  const uint64_t line = rows_.line_bytes();
  if (room_bytes < 0) {
    const auto wanted = static_cast<uint64_t>(-room_bytes);
    shared_->lower_to(line - std::min(line, wanted));
  } else if (line < planned_line_bytes_) {
    const uint64_t goal = std::min(planned_line_bytes_, line + static_cast<uint64_t>(room_bytes));
    ledger_.set_limit(planned_limit_bytes_ - (planned_line_bytes_ - goal));
    shared_->raise_to(goal);
  }
  const uint64_t lowered = planned_line_bytes_ - rows_.line_bytes();
  ledger_.set_limit(planned_limit_bytes_ - lowered);
  given_back_bytes_ = std::max(given_back_bytes_.load(), lowered);
}

void RoomKeeper::follow() {
  const uint64_t goal = shared_->goal_bytes();
  const uint64_t line = rows_.line_bytes();
  if (goal == line) return;
  if (goal > line) ledger_.set_limit(planned_limit_bytes_ - (planned_line_bytes_ - goal));
  shared_->follow();
  ledger_.set_limit(planned_limit_bytes_ - (planned_line_bytes_ - rows_.line_bytes()));
}

void RoomKeeper::adjust(int64_t room_bytes) {
  if (shared_ != nullptr) return adjust_shared(room_bytes);
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
