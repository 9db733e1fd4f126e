// Rows come out as they are in their file, whether they are resident or read into the area.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "feature/rows.h"
#include "temp_folder.h"

namespace plimsoll::feature {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kStep = io::kLineStepBytes;

// Rows of random bytes in a file a little longer than two steps, or of 60,000 rows where those are
// short.
class RowsInAFile {
 public:
  explicit RowsInAFile(uint64_t row_bytes)
      : shape{.row_bytes = row_bytes,
              .count = std::min<uint64_t>(60'000, 2 * kStep / row_bytes + 700),
              .columns = static_cast<uint32_t>(row_bytes / 4)} {
    bytes_.resize(shape.count * row_bytes);
    for (uint64_t i = 0; i < bytes_.size(); i += 8) {
      const uint64_t draw = mix64(i + row_bytes);
      std::memcpy(&bytes_[i], &draw, std::min<uint64_t>(8, bytes_.size() - i));
    }
    write_file(path(), bytes_);
  }
  fs::path path() const { return folder_ / "rows"; }
  bool is_row(uint64_t row, const unsigned char* data) const {
    return std::memcmp(data, bytes_.data() + row * shape.row_bytes, shape.row_bytes) == 0;
  }

  const RowShape shape;

 private:
  TempFolder folder_;
  std::string bytes_;
};

class RowReaderTest : public testing::TestWithParam<uint64_t> {
 protected:
  RowSource source(uint64_t area_bytes, uint64_t line_bytes, const memory::IndexSet* set = nullptr,
                   unsigned areas = 1) {
    RowSource source({.path = rows_.path(),
                      .shape = rows_.shape,
                      .areas = areas,
                      .area_bytes = area_bytes,
                      .set = set},
                     ledger_);
    source.file().raise(line_bytes, 1, [](std::span<const std::byte>) {});
    return source;
  }
  // Asks for these nodes, at most as many as there is room for, some of them several times.
  void expect_rows(RowReader& reader, const std::vector<uint32_t>& nodes,
                   const memory::IndexSet* set = nullptr) {
    const RowReader::Access access(reader);
    std::vector<uint32_t> places(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      const uint64_t row = set == nullptr ? nodes[i] : set->rank(nodes[i]);
      if (row < access.resident_rows()) {
        places[i] = static_cast<uint32_t>(row);
      } else {
        reader.want(nodes[i], &places[i]);
      }
    }
    reader.read(*queue_);
    EXPECT_EQ(reader.wanted(), 0U);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const uint64_t row = set == nullptr ? nodes[i] : set->rank(nodes[i]);
      ASSERT_TRUE(rows_.is_row(row, access.rows().data + places[i] * rows_.shape.row_bytes))
          << "row " << row << " of " << nodes.size();
    }
  }
  std::vector<uint32_t> random_nodes(uint64_t count, uint64_t seed) const {
    std::vector<uint32_t> nodes(count);
    for (uint64_t i = 0; i < count; ++i) {
      nodes[i] = static_cast<uint32_t>(below(RandomStream(seed, count).at(i), rows_.shape.count));
    }
    return nodes;
  }

  const RowsInAFile rows_{GetParam()};
  memory::Ledger ledger_{64 * kMiB};
  std::unique_ptr<io::ReadQueue> queue_ = io::ReadQueue::open(ledger_);
};

// Those that stores have, and some that fit no sector.
INSTANTIATE_TEST_SUITE_P(RowBytes, RowReaderTest,
                         testing::Values(2, 4, 16, 48, 256, 512, 700, 1024, 1200, 1536, 2560, 8192),
                         [](const auto& param) { return std::to_string(param.param); });

TEST_P(RowReaderTest, ReadsAsManyRowsAsItHasRoomFor) {
  for (const uint64_t area_bytes : {uint64_t{0}, 100 * kKiB, kMiB, 3 * kMiB}) {
    for (const uint64_t line_bytes : {uint64_t{0}, kStep, 2 * kStep, UINT64_MAX}) {
      SCOPED_TRACE("area " + std::to_string(area_bytes) + ", line " + std::to_string(line_bytes));
      const RowSource rows = source(area_bytes, line_bytes);
      RowReader reader(rows, ledger_);
      reader.prepare(3000);
      ASSERT_GE(reader.room_rows(), 1U);
      for (uint64_t round = 0; round < 4; ++round) {
        const uint64_t most = std::min<uint64_t>(reader.room_rows(), 1000);
        expect_rows(reader, random_nodes(round % 2 == 0 ? most : (most + 1) / 2, round));
      }
    }
  }
}

TEST_P(RowReaderTest, ReadsNeighboursAndBothEnds) {
  const RowSource rows = source(kMiB, 0);
  RowReader reader(rows, ledger_);
  reader.prepare(3000);
  const auto last = static_cast<uint32_t>(rows_.shape.count - 1);
  expect_rows(reader, {last});
  expect_rows(reader, {0});
  expect_rows(reader, {last, 0, last - 1, 1, last});
  const uint64_t most = std::min<uint64_t>(reader.room_rows(), 200);
  std::vector<uint32_t> piece;
  for (uint32_t i = 0; i < most; ++i) piece.push_back(100 + i);
  expect_rows(reader, piece);
  std::ranges::reverse(piece);
  expect_rows(reader, piece);
  for (uint32_t i = 0; i < piece.size(); ++i) piece[i] = 3 * i % last;
  expect_rows(reader, piece);
  for (uint32_t i = 0; i < piece.size(); ++i) piece[i] = last - 2 * i;
  expect_rows(reader, piece);
}

// However often a row is wanted, it takes the room of one.
TEST_P(RowReaderTest, ReadsARowThatIsWantedOftenOnce) {
  const RowSource rows = source(0, 0);
  RowReader reader(rows, ledger_);
  reader.prepare(3000);
  expect_rows(reader, std::vector<uint32_t>(3000, 77));
  EXPECT_EQ(queue_->counts().reads, 1U);
}

TEST_P(RowReaderTest, FindsTheRowsOfASetByTheirRank) {
  const uint64_t nodes = 4 * rows_.shape.count;
  memory::IndexSet set(ledger_, nodes);
  for (uint64_t i = 0; i < rows_.shape.count; ++i) set.add(4 * i + mix64(i) % 4);
  set.count();
  for (const uint64_t line_bytes : {uint64_t{0}, kStep, UINT64_MAX}) {
    const RowSource rows = source(kMiB, line_bytes, &set);
    RowReader reader(rows, ledger_);
    reader.prepare(3000);
    const uint64_t most = std::min<uint64_t>(reader.room_rows(), 300);
    std::vector<uint32_t> wanted;
    for (const uint32_t row : random_nodes(most, 5)) {
      wanted.push_back(static_cast<uint32_t>(set.at(row)));
    }
    expect_rows(reader, wanted, &set);
  }
}

TEST_P(RowReaderTest, HasAnAreaOfItsOwnBesideOthers) {
  const RowSource rows = source(300 * kKiB, 0, nullptr, 2);
  RowReader one(rows, ledger_);
  RowReader two(rows, ledger_);
  one.prepare(1000);
  two.prepare(1000);
  std::vector<uint32_t> places(2);
  one.want(5, &places[0]);
  one.read(*queue_);
  two.want(700, &places[1]);
  two.read(*queue_);
  const RowReader::Access access(one);
  EXPECT_TRUE(rows_.is_row(5, access.rows().data + places[0] * rows_.shape.row_bytes));
  EXPECT_TRUE(rows_.is_row(700, access.rows().data + places[1] * rows_.shape.row_bytes));
  EXPECT_NE(places[0], places[1]);
}

TEST_P(RowReaderTest, LeavesItsAreaToTheNextOne) {
  const RowSource rows = source(300 * kKiB, 0);
  const uint64_t used_bytes = ledger_.used_bytes();
  for (int i = 0; i < 3; ++i) {
    RowReader reader(rows, ledger_);
    EXPECT_EQ(ledger_.used_bytes(), used_bytes) << "leased before it was needed";
    reader.prepare(100);
    EXPECT_GE(ledger_.used_bytes(), used_bytes + 300 * kKiB);
    expect_rows(reader, {3});
  }
  EXPECT_EQ(ledger_.used_bytes(), used_bytes);
}

// Refused at any of its leases, it is as good as new.
TEST_P(RowReaderTest, CanBePreparedAgainAfterARefusedLease) {
  const RowSource rows = source(300 * kKiB, 0);
  RowReader reader(rows, ledger_);
  int refused = 0;
  for (uint64_t left_bytes = 0; left_bytes < 450 * kKiB; left_bytes += 4 * kKiB) {
    if (reader.prepared() > 0) break;
    const auto others = ledger_.lease("others", ledger_.available_bytes() - left_bytes);
    try {
      reader.prepare(500);
    } catch (const Error& error) {
      EXPECT_EQ(name(error.kind()), name(ErrorKind::memory)) << error.what();
      EXPECT_EQ(reader.prepared(), 0U);
      ++refused;
    }
  }
  EXPECT_GT(refused, 5);
  reader.prepare(500);
  EXPECT_GE(reader.prepared(), 500U);
  expect_rows(reader, {1, 2, 300});
}

TEST_P(RowReaderTest, KnowsWhatIsResident) {
  const RowSource all = source(0, UINT64_MAX);
  const RowReader reader(all, ledger_);
  EXPECT_TRUE(RowReader::Access(reader).all_in_place());
  EXPECT_TRUE(RowReader::Access(reader).all_resident());
  all.file().lower_by(1);
  const RowReader::Access access(reader);
  EXPECT_FALSE(access.all_in_place());
  EXPECT_FALSE(access.all_resident());
  EXPECT_EQ(access.resident_rows(), all.file().line_bytes() / rows_.shape.row_bytes);
  EXPECT_LT(access.resident_rows(), rows_.shape.count);
}

TEST(RowReaderOfACutFile, SaysSo) {
  memory::Ledger ledger(64 * kMiB);
  const RowsInAFile file(512);
  const RowSource rows({.path = file.path(), .shape = file.shape, .areas = 1}, ledger);
  RowReader reader(rows, ledger);
  reader.prepare(10);
  const auto queue = io::ReadQueue::open(ledger);
  uint32_t place = 0;
  reader.want(1000, &place);
  fs::resize_file(file.path(), 4096);
  expect_error(ErrorKind::store, {file.path().string(), "4096 bytes now"},
               [&] { reader.read(*queue); });
  EXPECT_EQ(reader.wanted(), 0U);
  reader.want(2, &place);
  reader.read(*queue);
  EXPECT_TRUE(file.is_row(2, RowReader::Access(reader).rows().data + place * 512));
}

}  // namespace
}  // namespace plimsoll::feature
