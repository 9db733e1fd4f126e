#include "train/shared_line.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::train {
namespace {

constexpr uint64_t kBytes = 40 * kMiB;

Fd open_again(int descriptor) {
  return Fd(::open(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), O_RDWR | O_CLOEXEC));
}

// Two ranks of a host, here in one process.
class SharedLineTest : public testing::Test {
 protected:
  SharedLineTest() {
    std::string text(kBytes, ' ');
    for (size_t i = 0; i < kBytes; ++i) text[i] = static_cast<char>('a' + i / kMiB % 26);
    write_file(folder_ / "rows", text);
    first_ = open(first_ledger_);
    first_->share(kBytes);
    first_->raise(kBytes, 1, [](std::span<const std::byte>) {});
    second_ = open(second_ledger_);
    second_->adopt(open_again(first_->shared_memory()), kBytes);
    leader_ = std::make_unique<SharedLine>(*first_, 2);
    follower_ = std::make_unique<SharedLine>(*second_, open_again(leader_->page()), 2, 1);
  }

  std::unique_ptr<io::LinedFile> open(memory::Ledger& ledger) {
    return std::make_unique<io::LinedFile>(ledger, "rows", folder_ / "rows",
                                           io::LinedFile::Shape{.bytes = kBytes});
  }
  uint64_t memory_bytes() const {
    struct stat status = {};
    ::fstat(first_->shared_memory(), &status);
    return static_cast<uint64_t>(status.st_blocks) * 512;
  }
  // Whether the rank reads, up to its line, what is in the file.
  static bool reads_right(const io::LinedFile& file) {
    const io::LinedFile::Use use(file);
    for (uint64_t i = 0; i < use.line_bytes; i += kMiB / 2) {
      if (static_cast<char>(use.data[i]) != static_cast<char>('a' + i / kMiB % 26)) return false;
    }
    return true;
  }
  // lower_to(), while the other rank follows.
  void lower_together(uint64_t line_bytes) {
    std::atomic<bool> done = false;
    std::jthread other([&] {
      while (!done) follower_->follow();
    });
    leader_->lower_to(line_bytes);
    done = true;
  }

  TempFolder folder_;
  memory::Ledger first_ledger_{100 * kMiB};
  memory::Ledger second_ledger_{100 * kMiB};
  std::unique_ptr<io::LinedFile> first_;
  std::unique_ptr<io::LinedFile> second_;
  std::unique_ptr<SharedLine> leader_;
  std::unique_ptr<SharedLine> follower_;
};

TEST_F(SharedLineTest, GoesDownInAllRanksAndGivesTheMemoryBack) {
  EXPECT_EQ(memory_bytes(), kBytes);
  lower_together(10 * kMiB);
  EXPECT_EQ(first_->line_bytes(), 10 * kMiB);
  EXPECT_EQ(second_->line_bytes(), 10 * kMiB);
  EXPECT_EQ(memory_bytes(), 10 * kMiB);
  EXPECT_EQ(first_ledger_.used_bytes(), 10 * kMiB);
  EXPECT_EQ(second_ledger_.used_bytes(), 10 * kMiB);
  EXPECT_TRUE(reads_right(*first_));
  EXPECT_TRUE(reads_right(*second_));
}

TEST_F(SharedLineTest, GoesUpAgainWithTheBytesOfTheFile) {
  lower_together(0);
  leader_->raise_to(30 * kMiB);
  EXPECT_EQ(second_->line_bytes(), 0U);
  follower_->follow();
  EXPECT_EQ(second_->line_bytes(), 30 * kMiB);
  EXPECT_EQ(memory_bytes(), 30 * kMiB);
  EXPECT_TRUE(reads_right(*second_));
}

TEST_F(SharedLineTest, KeepsTheMemoryWhileARankStillUsesIt) {
  leader_->lower_to(10 * kMiB);  // nobody follows
  EXPECT_EQ(memory_bytes(), kBytes);
  EXPECT_TRUE(reads_right(*second_));
  follower_->follow();
  leader_->lower_to(10 * kMiB);
  EXPECT_EQ(memory_bytes(), 10 * kMiB);
}

TEST_F(SharedLineTest, StaysLowInARankWhoseLedgerHasNoRoom) {
  lower_together(0);
  second_ledger_.set_limit(20 * kMiB);
  leader_->raise_to(kBytes);
  follower_->follow();
  EXPECT_EQ(second_->line_bytes(), 0U);
  lower_together(4 * kMiB);
  EXPECT_EQ(second_->line_bytes(), 4 * kMiB);
  EXPECT_TRUE(reads_right(*second_));
}

TEST_F(SharedLineTest, NeverShowsMemoryThatIsGone) {
  std::atomic<bool> done = false;
  std::atomic<bool> wrong = false;
  std::jthread follower([&] {
    while (!done) follower_->follow();
  });
  std::jthread reader([&] {
    while (!done) {
      if (!reads_right(*second_)) wrong = true;
    }
  });
  for (uint64_t i = 0; i < 40; ++i) {
    leader_->lower_to(i % 5 * 2 * kMiB);
    leader_->raise_to(i % 7 * 6 * kMiB);
  }
  done = true;
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace plimsoll::train
