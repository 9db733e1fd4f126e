#include "train/room_keeper.h"

#include <gtest/gtest.h>

#include <string>

#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::train {
namespace {

constexpr auto kSigned = [](uint64_t bytes) { return static_cast<int64_t>(bytes); };

class Keeping : public testing::Test {
 protected:
  Keeping() {
    write_file(folder_ / "rows", std::string(40 * kMiB, 'r'));
    file_ = std::make_unique<io::LinedFile>(ledger_, "rows", folder_ / "rows",
                                            io::LinedFile::Shape{.bytes = 40 * kMiB});
    file_->raise(40 * kMiB, 1, [](std::span<const std::byte>) {});
    lowers_ = ledger_.on_shortage([this](uint64_t bytes) { file_->lower_by(bytes); });
  }

  TempFolder folder_;
  memory::Ledger ledger_{100 * kMiB};
  std::unique_ptr<io::LinedFile> file_;
  memory::Ledger::Reclaimer lowers_;
};

TEST_F(Keeping, GivesLinesBackAndRaisesThemAgain) {
  RoomKeeper keeper(ledger_, *file_, 50 * kMiB);
  const memory::Lease batches = ledger_.lease("batches", 45 * kMiB);
  keeper.adjust(-kSigned(20 * kMiB));
  EXPECT_LE(file_->line_bytes(), 20 * kMiB);
  EXPECT_GE(keeper.given_back_bytes(), 20 * kMiB);
  keeper.adjust(kSigned(100 * kMiB));
  EXPECT_EQ(ledger_.limit_bytes(), 100 * kMiB);
  EXPECT_EQ(file_->line_bytes(), 40 * kMiB);
}

// Between two batches little is lent: that is not what the next batch will need.
TEST_F(Keeping, LeavesWhatTheRunNeedsHoweverLongMemoryIsShort) {
  RoomKeeper keeper(ledger_, *file_, 50 * kMiB);
  for (int i = 0; i < 20; ++i) {
    {
      const memory::Lease batches = ledger_.lease("batches", 50 * kMiB);
      keeper.adjust(-kSigned(30 * kMiB));
    }
    keeper.adjust(-kSigned(30 * kMiB));
    EXPECT_GE(ledger_.limit_bytes(), 50 * kMiB);
  }
  EXPECT_EQ(file_->line_bytes(), 0U);
}

}  // namespace
}  // namespace plimsoll::train
