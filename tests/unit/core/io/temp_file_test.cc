#include "io/temp_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <span>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::io {
namespace {

constexpr uint64_t kPieceBytes = 4 * kBlockBytes;

// Words that tell which piece they belong to.
void fill_piece(std::span<std::byte> piece, uint64_t number) {
  const RandomStream stream(1, number);
  for (uint64_t i = 0; i < piece.size() / 8; ++i) {
    const uint64_t word = stream.at(i);
    std::memcpy(&piece[8 * i], &word, 8);
  }
}

class TempFileTest : public testing::Test {
 protected:
  memory::Buffer<std::byte> make_buffer() { return {ledger_, "pieces", kPieceBytes}; }

  void write_piece(TempFile& file, uint64_t number) {
    const auto piece = make_buffer();
    fill_piece(piece.span(), number);
    file.write(piece.span(), number * kPieceBytes);
  }
  bool holds_piece(const TempFile& file, uint64_t number) {
    const auto expected = make_buffer();
    fill_piece(expected.span(), number);
    const auto piece = make_buffer();
    file.read(piece.span(), number * kPieceBytes);
    return std::equal(piece.begin(), piece.end(), expected.begin());
  }
  bool is_zero(const TempFile& file, uint64_t number) {
    const auto piece = make_buffer();
    fill_piece(piece.span(), number);
    file.read(piece.span(), number * kPieceBytes);
    return std::all_of(piece.begin(), piece.end(), [](std::byte b) { return b == std::byte{0}; });
  }

  TempFolder folder_;
  memory::Ledger ledger_{64 * kMiB};
};

TEST_F(TempFileTest, HasNoNameWhileItLives) {
  TempFile file({.folder = folder_.path()});
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  write_piece(file, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_TRUE(holds_piece(file, 0));
}

TEST_F(TempFileTest, KeepsPiecesWrittenInAnyOrder) {
  TempFile file({.folder = folder_.path()});
  for (const uint64_t number : {7, 0, 3, 1}) write_piece(file, number);
  for (const uint64_t number : {0, 1, 3, 7}) EXPECT_TRUE(holds_piece(file, number)) << number;
  write_piece(file, 3);
  EXPECT_TRUE(holds_piece(file, 3));
  EXPECT_TRUE(is_zero(file, 2));  // a hole
}

TEST_F(TempFileTest, IsWrittenAndReadByManyThreadsAtOnce) {
  constexpr uint64_t kThreads = 8;
  constexpr uint64_t kPiecesEach = 16;
  TempFile file({.folder = folder_.path()});
  std::atomic<int> wrong = 0;
  const auto work = [&](uint64_t thread) {
    for (uint64_t i = 0; i < kPiecesEach; ++i) write_piece(file, i * kThreads + thread);
    for (uint64_t i = 0; i < kPiecesEach; ++i) {
      if (!holds_piece(file, i * kThreads + thread)) ++wrong;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  }
  EXPECT_EQ(wrong, 0);
  for (uint64_t number = 0; number < kThreads * kPiecesEach; ++number) {
    ASSERT_TRUE(holds_piece(file, number)) << number;
  }
}

TEST_F(TempFileTest, ReleasesARangeAndNothingBesideIt) {
  if (!TempFile::can_release(folder_.path())) GTEST_SKIP() << "this disk cannot punch holes";
  TempFile file({.folder = folder_.path(), .release_early = true});
  for (uint64_t number = 0; number < 6; ++number) write_piece(file, number);
  file.release(2 * kPieceBytes, 2 * kPieceBytes);
  for (const uint64_t number : {0, 1, 4, 5}) EXPECT_TRUE(holds_piece(file, number)) << number;
  for (const uint64_t number : {2, 3}) EXPECT_TRUE(is_zero(file, number)) << number;
  file.release(4 * kPieceBytes, 2 * kPieceBytes);  // the end: the file keeps its length
  EXPECT_TRUE(is_zero(file, 5));
  EXPECT_TRUE(holds_piece(file, 1));
}

TEST_F(TempFileTest, KeepsWhatIsReleasedUnlessAskedToReleaseEarly) {
  TempFile file({.folder = folder_.path()});
  write_piece(file, 0);
  write_piece(file, 1);
  file.release(0, kPieceBytes);
  EXPECT_TRUE(holds_piece(file, 0));
  EXPECT_TRUE(holds_piece(file, 1));
}

TEST_F(TempFileTest, LeavesNothingWhenItTriesToRelease) {
  TempFile::can_release(folder_.path());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(TempFileTest, IsAnErrorToReadBeyondItsEnd) {
  TempFile file({.folder = folder_.path()});
  write_piece(file, 0);
  const auto piece = make_buffer();
  expect_error(ErrorKind::io,
               {"a temporary file in " + folder_.path().string(), "ends at byte 16384"},
               [&] { file.read(piece.span(), kPieceBytes); });
}

TEST_F(TempFileTest, NeedsAFolder) {
  const auto missing = folder_ / "missing";
  expect_error(ErrorKind::io, {"cannot make a temporary file in " + missing.string()},
               [&] { const TempFile file({.folder = missing}); });
}

TEST_F(TempFileTest, WorksOnATmpfs) {
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "no /dev/shm";
  const TempFolder shm("/dev/shm");
  TempFile file({.folder = shm.path()});
  write_piece(file, 5);
  EXPECT_TRUE(holds_piece(file, 5));
  EXPECT_TRUE(std::filesystem::is_empty(shm.path()));
}

}  // namespace
}  // namespace plimsoll::io
