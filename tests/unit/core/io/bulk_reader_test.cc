#include "io/bulk_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "memory/index_set.h"
#include "temp_folder.h"

namespace plimsoll::io {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kBulkBytes = 100'003;  // cuts the last item of every size below
constexpr std::array<uint32_t, 6> kItemBytes = {8, 100, 256, 512, 700, 5000};

std::string bulk_text() {
  const RandomStream stream(6, kBulkBytes);
  std::string text(kBulkBytes, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(stream.at(i));
  return text;
}

class BulkRead : public testing::TestWithParam<std::tuple<ReadMethod, unsigned>> {
 protected:
  void SetUp() override { open("items"); }
  void open(const std::string& name) {
    path_ = folder_ / name;
    write_file(path_, text_);
    file_ = open_rows(path_);
  }

  static BulkOptions options(uint64_t room_bytes, const ReadPrice& price = {}) {
    const auto [method, threads] = GetParam();
    return {.reading = {.method = method, .depth = 8, .room_bytes = room_bytes},
            .price = price,
            .threads = threads};
  }

  memory::IndexSet items_of(uint32_t item_bytes, const std::vector<uint64_t>& items) {
    memory::IndexSet set(sets_, (kBulkBytes + item_bytes - 1) / item_bytes);
    for (const uint64_t item : items) set.add(item);
    set.count();
    return set;
  }
  // Every item with this chance.
  memory::IndexSet random_items(uint32_t item_bytes, double chance) {
    const RandomStream random(8, item_bytes);
    std::vector<uint64_t> items;
    for (uint64_t item = 0; item * item_bytes < kBulkBytes; ++item) {
      if (unit_interval(random.at(item)) < chance) items.push_back(item);
    }
    return items_of(item_bytes, items);
  }

  bool is_content(uint64_t item, uint32_t item_bytes, const std::byte* bytes) const {
    const uint64_t offset = item * item_bytes;
    const uint64_t count = std::min<uint64_t>(item_bytes, kBulkBytes - offset);
    return std::memcmp(bytes, text_.data() + offset, count) == 0;
  }
  void expect_items(BulkReader& reader, const memory::IndexSet& items, uint32_t item_bytes) const {
    std::vector<std::atomic<int>> times(items.size());
    std::atomic<uint64_t> wrong = 0;
    const auto take = [&](uint64_t item, uint64_t rank, const std::byte* bytes) {
      const bool right = item < items.end() && items.has(item) && items.rank(item) == rank &&
                         is_content(item, item_bytes, bytes);
      if (right) {
        ++times[rank];
      } else {
        ++wrong;
      }
    };
    reader.read(file_, items, item_bytes, take);
    EXPECT_EQ(wrong, 0U);
    EXPECT_TRUE(std::ranges::all_of(times, [](const auto& count) { return count == 1; }));
  }

  const std::string text_ = bulk_text();
  const TempFolder folder_;
  fs::path path_;
  RowFile file_;
  memory::Ledger ledger_{64 * kMiB};
  memory::Ledger sets_{64 * kMiB};
};

INSTANTIATE_TEST_SUITE_P(Methods, BulkRead,
                         testing::Combine(testing::Values(ReadMethod::automatic,
                                                          ReadMethod::threads),
                                          testing::Values(1U, 4U)),
                         [](const auto& param) {
                           const bool automatic = std::get<0>(param.param) == ReadMethod::automatic;
                           return (automatic ? "Automatic" : "Threads") +
                                  std::to_string(std::get<1>(param.param));
                         });

TEST_P(BulkRead, HandsEveryItemOverOnce) {
  for (const uint64_t room_bytes : {4 * kKiB, 64 * kKiB}) {
    BulkReader reader(ledger_, options(room_bytes));
    for (const uint32_t item_bytes : kItemBytes) {
      SCOPED_TRACE(item_bytes);
      for (const double chance : {1.0, 0.5, 0.01, 0.0}) {
        expect_items(reader, random_items(item_bytes, chance), item_bytes);
      }
    }
  }
}

TEST_P(BulkRead, ReadsTheFirstOrTheLastItemAlone) {
  BulkReader reader(ledger_, options(4 * kKiB));
  for (const uint32_t item_bytes : kItemBytes) {
    SCOPED_TRACE(item_bytes);
    for (const uint64_t item : {uint64_t{0}, kBulkBytes / item_bytes}) {
      expect_items(reader, items_of(item_bytes, {item}), item_bytes);
    }
  }
}

TEST_P(BulkRead, ReadsTheSameAtAnyPrice) {
  for (const ReadPrice& price : {ReadPrice{0, 1e-9}, ReadPrice{1e-6, 1e-9}, ReadPrice{1e-5, 0}}) {
    BulkReader reader(ledger_, options(64 * kKiB, price));
    for (const uint32_t item_bytes : kItemBytes) {
      expect_items(reader, random_items(item_bytes, 0.1), item_bytes);
    }
  }
}

TEST_P(BulkRead, ReadsNothingWhereNothingIsWanted) {
  BulkReader reader(ledger_, options(64 * kKiB));
  expect_items(reader, items_of(8, {}), 8);
  EXPECT_EQ(reader.counts().reads, 0U);
  EXPECT_EQ(reader.method(), "");
  EXPECT_EQ(ledger_.used_bytes(), 0U);
}

TEST_P(BulkRead, ReadsDenseItemsAsAStreamAndSparseOnesAlone) {
  BulkReader dense(ledger_, options(kMiB));
  expect_items(dense, random_items(5000, 1), 5000);
  EXPECT_EQ(dense.counts().reads, 1U);
  const uint64_t sectors = (kBulkBytes + file_.alignment - 1) / file_.alignment;
  EXPECT_EQ(dense.counts().bytes, sectors * file_.alignment);

  BulkReader sparse(ledger_, options(kMiB, {.request_seconds = 1e-6, .byte_seconds = 1e-9}));
  expect_items(sparse, items_of(512, {0, 50, 51, 150}), 512);
  EXPECT_EQ(sparse.counts().reads, 3U);
}

TEST_P(BulkRead, FailsWhereTheFileWasCutAndReadsAnother) {
  BulkReader reader(ledger_, options(64 * kKiB));
  for (const uint32_t item_bytes : {8U, 700U}) {
    open("cut");
    fs::resize_file(path_, kBulkBytes / 2);
    const memory::IndexSet all = random_items(item_bytes, 1);
    expect_error(ErrorKind::store, {path_.string(), "it has 50001 bytes now"}, [&] {
      reader.read(file_, all, item_bytes, [](uint64_t, uint64_t, const std::byte*) {});
    });
    open("other");
    expect_items(reader, all, item_bytes);
  }
}

TEST_P(BulkRead, LeasesNoMoreThanItSaysAndGivesItBack) {
  for (const uint64_t room_bytes : {64 * kKiB, 4 * kMiB}) {
    SCOPED_TRACE(room_bytes);
    BulkOptions usual = options(room_bytes);
    usual.reading.depth = kReadDepth;
    {
      BulkReader reader(ledger_, usual);
      EXPECT_EQ(ledger_.used_bytes(), 0U);
      for (const uint32_t item_bytes : kItemBytes) {
        expect_items(reader, random_items(item_bytes, 1), item_bytes);
        EXPECT_GE(ledger_.used_bytes(), room_bytes);
      }
      EXPECT_LE(ledger_.peak_bytes(), BulkReader::bytes_needed(usual));
      reader.release();
      EXPECT_EQ(ledger_.used_bytes(), 0U);
      expect_items(reader, random_items(100, 0.5), 100);
      EXPECT_GT(ledger_.used_bytes(), 0U);
    }
    EXPECT_EQ(ledger_.used_bytes(), 0U);
  }
}

TEST_P(BulkRead, KeepsItsCountsWhenItGivesItsMemoryBack) {
  BulkReader reader(ledger_, options(64 * kKiB));
  expect_items(reader, random_items(8, 0.5), 8);
  const ReadQueue::Counts before = reader.counts();
  const std::string method = reader.method();
  EXPECT_GT(before.reads, 0U);
  EXPECT_NE(method, "");
  reader.release();
  EXPECT_EQ(reader.counts().reads, before.reads);
  EXPECT_EQ(reader.counts().bytes, before.bytes);
  EXPECT_EQ(reader.counts().seconds, before.seconds);
  EXPECT_EQ(reader.method(), method);
  expect_items(reader, random_items(8, 0.5), 8);
  EXPECT_EQ(reader.counts().reads, 2 * before.reads);
  EXPECT_EQ(reader.counts().bytes, 2 * before.bytes);
}

}  // namespace
}  // namespace plimsoll::io
