#include "io/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "temp_folder.h"

namespace plimsoll::io {
namespace {

class Merge : public testing::Test {
 protected:
  // The reads as (offset, bytes).
  std::vector<std::vector<uint64_t>> reads() {
    std::vector<std::vector<uint64_t>> all;
    for (const Piece& piece : reads_.aim(nullptr)) all.push_back({piece.offset, piece.bytes});
    return all;
  }
  std::vector<uint64_t> positions() const {
    return {reads_.positions().begin(), reads_.positions().end()};
  }

  memory::Ledger ledger_{64 * kMiB};
  MergedReads reads_{ledger_, "rows"};
};

using Reads = std::vector<std::vector<uint64_t>>;
using Positions = std::vector<uint64_t>;

TEST_F(Merge, OfNothingIsNothing) {
  reads_.plan_rows({}, 256, {});
  EXPECT_TRUE(reads().empty());
  EXPECT_TRUE(positions().empty());
  EXPECT_EQ(reads_.area_bytes(), 0U);
}

TEST_F(Merge, ReadsTheSectorOfARow) {
  reads_.plan_rows(std::vector<uint32_t>{5}, 256, {});
  EXPECT_EQ(reads(), Reads({{1024, 512}}));
  EXPECT_EQ(positions(), Positions({256}));
}

TEST_F(Merge, ReadsASectorOnceForAllItsRows) {
  reads_.plan_rows(std::vector<uint32_t>{8, 9, 9, 20}, 256, {});
  EXPECT_EQ(reads(), Reads({{2048, 512}, {5120, 512}}));
  EXPECT_EQ(positions(), Positions({0, 256, 256, 512}));
  EXPECT_EQ(reads_.area_bytes(), 1024U);
}

TEST_F(Merge, ReadsAdjacentSectorsAtOnce) {
  reads_.plan_rows(std::vector<uint32_t>{2, 3, 4, 6}, 512, {});
  EXPECT_EQ(reads(), Reads({{1024, 1536}, {3072, 512}}));
  EXPECT_EQ(positions(), Positions({0, 512, 1024, 1536}));
}

TEST_F(Merge, ReadsSmallGapsAlong) {
  const std::vector<uint32_t> rows = {0, 2, 5};
  reads_.plan_rows(rows, 512, {.gap_bytes = 511});
  EXPECT_EQ(reads().size(), 3U);
  reads_.plan_rows(rows, 512, {.gap_bytes = 512});
  EXPECT_EQ(reads(), Reads({{0, 1536}, {2560, 512}}));
  reads_.plan_rows(rows, 512, {.gap_bytes = 1024});
  EXPECT_EQ(reads(), Reads({{0, 3072}}));
  EXPECT_EQ(positions(), Positions({0, 1024, 2560}));
}

TEST_F(Merge, ReadsBothSectorsOfARowThatStraddlesThem) {
  reads_.plan_rows(std::vector<uint32_t>{1}, 400, {});
  EXPECT_EQ(reads(), Reads({{0, 1024}}));
  EXPECT_EQ(positions(), Positions({400}));
}

TEST_F(Merge, CutsALongRunAtTheLargestRead) {
  std::vector<uint32_t> rows(10);
  std::iota(rows.begin(), rows.end(), 0U);
  reads_.plan_rows(rows, 512, {.largest_bytes = 2048});
  EXPECT_EQ(reads(), Reads({{0, 2048}, {2048, 2048}, {4096, 1024}}));
  EXPECT_EQ(positions()[4], 2048U);
}

TEST_F(Merge, KeepsALongRangeInOnePiece) {
  reads_.plan(std::vector<ByteRange>{{100, 200'000}}, {});
  EXPECT_EQ(reads(), Reads({{0, 65536}, {65536, 65536}, {131072, 65536}, {196608, 3584}}));
  EXPECT_EQ(positions(), Positions({100}));
}

TEST_F(Merge, ReadsNothingForEmptyRanges) {
  reads_.plan(std::vector<ByteRange>{{100, 0}, {9000, 4}, {20'000, 0}, {20'000, 8}, {20'008, 0}},
              {});
  EXPECT_EQ(reads(), Reads({{8704, 512}, {19968, 512}}));
  EXPECT_EQ(positions()[1], 296U);
  EXPECT_EQ(positions()[3], 544U);
  reads_.plan(std::vector<ByteRange>{{100, 0}}, {});
  EXPECT_TRUE(reads().empty());
}

TEST_F(Merge, ReadsBareBytesWithoutAlignment) {
  reads_.plan(std::vector<ByteRange>{{3, 4}, {7, 5}, {20, 1}}, {.alignment = 1});
  EXPECT_EQ(reads(), Reads({{3, 9}, {20, 1}}));
  EXPECT_EQ(positions(), Positions({0, 4, 9}));
}

TEST_F(Merge, OfLargeFilesDoesNotOverflow) {
  reads_.plan_rows(std::vector<uint32_t>{UINT32_MAX - 1, UINT32_MAX}, 4096, {});
  EXPECT_EQ(reads(), Reads({{uint64_t{UINT32_MAX - 1} * 4096, 8192}}));
}

TEST_F(Merge, AimsItsReadsAtOneAreaWithoutGaps) {
  reads_.plan_rows(std::vector<uint32_t>{1, 5, 9}, 512, {});
  std::vector<std::byte> area(reads_.area_bytes());
  std::byte* next = area.data();
  for (const Piece& piece : reads_.aim(area.data())) {
    EXPECT_EQ(piece.to, next);
    next += piece.bytes;
  }
  EXPECT_EQ(next, area.data() + area.size());
}

TEST_F(Merge, LeasesItsRoomAndKeepsIt) {
  std::vector<uint32_t> rows(10'000);
  for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = 10 * i;
  reads_.plan_rows(rows, 512, {});
  const uint64_t used_bytes = ledger_.used_bytes();
  EXPECT_GE(used_bytes, rows.size() * (sizeof(Piece) + sizeof(uint64_t)));
  reads_.plan_rows(rows, 512, {});
  EXPECT_EQ(ledger_.used_bytes(), used_bytes);
  memory::Ledger small(kMiB / 8);
  MergedReads refused(small, "rows");
  expect_error(ErrorKind::memory, {"rows"}, [&] { refused.plan_rows(rows, 512, {}); });
}

// Whatever the sizes, a copy by the plan brings every wanted byte.
TEST_F(Merge, BringsTheBytesThatAreWanted) {
  std::vector<std::byte> file(300'000);
  const RandomStream content(1, 1);
  for (size_t i = 0; i < file.size(); ++i) file[i] = static_cast<std::byte>(content.at(i));
  uint64_t draw = 0;
  const RandomStream random(2, 2);
  for (int round = 0; round < 300; ++round) {
    const uint64_t alignment = uint64_t{1} << below(random.at(draw++), 13);
    const MergeRule rule = {.alignment = alignment,
                            .gap_bytes = below(random.at(draw++), 5000),
                            .largest_bytes = alignment * (1 + below(random.at(draw++), 8))};
    std::vector<ByteRange> ranges(below(random.at(draw++), 100));
    for (ByteRange& range : ranges) {
      range.offset = below(random.at(draw++), file.size());
      range.bytes = std::min(below(random.at(draw++), 2000), file.size() - range.offset);
    }
    std::ranges::sort(ranges, {}, &ByteRange::offset);
    reads_.plan(ranges, rule);
    std::vector<std::byte> area(reads_.area_bytes());
    uint64_t before = 0;
    for (const Piece& piece : reads_.aim(area.data())) {
      ASSERT_EQ(piece.offset % alignment, 0U);
      ASSERT_EQ(piece.bytes % alignment, 0U);
      ASSERT_LE(piece.bytes, rule.largest_bytes);
      ASSERT_GE(piece.offset, before);
      before = piece.offset + piece.bytes;
      ASSERT_LT(before, file.size() + alignment);
      std::memcpy(piece.to, file.data() + piece.offset,
                  std::min<uint64_t>(piece.bytes, file.size() - piece.offset));
    }
    for (size_t i = 0; i < ranges.size(); ++i) {
      ASSERT_LE(reads_.positions()[i] + ranges[i].bytes, area.size());
      ASSERT_TRUE(
          std::equal(file.begin() + static_cast<ptrdiff_t>(ranges[i].offset),
                     file.begin() + static_cast<ptrdiff_t>(ranges[i].offset + ranges[i].bytes),
                     area.begin() + static_cast<ptrdiff_t>(reads_.positions()[i])));
    }
  }
}

}  // namespace
}  // namespace plimsoll::io
