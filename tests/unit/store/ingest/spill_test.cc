#include "ingest/spill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/parallel.h"
#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::ingest {
namespace {

std::vector<uint64_t> drained(Spill& spill, size_t bucket, memory::Ledger& ledger) {
  memory::Buffer<std::byte> chunk(ledger, "chunk", spill.chunk_bytes());
  std::vector<uint64_t> keys;
  spill.drain(bucket, chunk.span(), [&](std::span<const std::byte> records) {
    const size_t before = keys.size();
    keys.resize(before + records.size() / 8);
    std::memcpy(&keys[before], records.data(), records.size());
  });
  return keys;
}

TEST(Spill, GivesEveryRecordBackFromItsBucket) {
  const TempFolder folder;
  memory::Ledger ledger(64 * kMiB);
  Spill spill(ledger, {.temp = {folder.path()}, .buckets = 7, .chunk_bytes = 64 * kKiB});
  constexpr uint64_t kKeys = 200'000;
  run_team(4, [&, next = std::make_shared<std::atomic<uint64_t>>(0)](Team&) {
    KeyScatter scatter(ledger, spill);
    for (uint64_t key = (*next)++; key < kKeys; key = (*next)++) scatter.put(key % 7, key);
    scatter.flush();
  });
  spill.seal();
  EXPECT_EQ(ledger.used_bytes(), 0U) << "a sealed spill holds no memory";
  uint64_t total = 0;
  for (size_t bucket = 0; bucket < 7; ++bucket) {
    std::vector<uint64_t> keys = drained(spill, bucket, ledger);
    std::sort(keys.begin(), keys.end());
    total += keys.size();
    for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(keys[i], bucket + 7 * i);
  }
  EXPECT_EQ(total, kKeys);
}

TEST(Spill, KeepsRecordsWholeThatDoNotDivideAChunk) {
  const TempFolder folder;
  memory::Ledger ledger(8 * kMiB);
  constexpr uint64_t kRecordBytes = 260;
  Spill spill(ledger, {.temp = {folder.path()},
                       .buckets = 1,
                       .record_bytes = kRecordBytes,
                       .chunk_bytes = 64 * kKiB});
  for (uint32_t i = 0; i < 1000; ++i) {
    std::vector<uint32_t> record(kRecordBytes / 4, i);
    spill.append(0, std::as_bytes(std::span(record)));
  }
  spill.seal();
  memory::Buffer<std::byte> chunk(ledger, "chunk", spill.chunk_bytes());
  uint32_t next = 0;
  spill.drain(0, chunk.span(), [&](std::span<const std::byte> records) {
    ASSERT_EQ(records.size() % kRecordBytes, 0U);
    for (; !records.empty(); records = records.subspan(kRecordBytes), ++next) {
      std::vector<uint32_t> record(kRecordBytes / 4);
      std::memcpy(record.data(), records.data(), kRecordBytes);
      ASSERT_EQ(record, std::vector<uint32_t>(kRecordBytes / 4, next));
    }
  });
  EXPECT_EQ(next, 1000U);
}

TEST(RadixSort, EqualsTheStandardSort) {
  std::mt19937_64 random(2);
  for (const uint64_t mask : {uint64_t{0}, uint64_t{1}, uint64_t{0xff}, uint64_t{1} << 63,
                              uint64_t{0xffff'0000'0fff'0000}, ~uint64_t{0}}) {
    for (const size_t count : {0, 1, 2, 1000, 70'000}) {
      std::vector<uint64_t> keys(count);
      for (uint64_t& key : keys) key = (random() & mask) | 0x1000;
      std::vector<uint64_t> expected = keys;
      std::sort(expected.begin(), expected.end());
      std::vector<uint64_t> scratch(count);
      const auto sorted = radix_sort(keys, scratch);
      ASSERT_TRUE(std::equal(sorted.begin(), sorted.end(), expected.begin(), expected.end()))
          << mask << " " << count;
    }
  }
}

class KeySort : public testing::Test {
 protected:
  // Sorts `keys` as one bucket in a workspace of 1 MiB, whatever their number.
  std::vector<uint64_t> sorted(const std::vector<uint64_t>& keys, KeyRange range) {
    Spill spill(ledger_, {.temp = {folder_.path()}, .buckets = 1, .chunk_bytes = 64 * kKiB});
    for (size_t i = 0; i < keys.size(); i += 1000) {
      const size_t count = std::min<size_t>(1000, keys.size() - i);
      spill.append(0, std::as_bytes(std::span(keys).subspan(i, count)));
    }
    spill.seal();
    SortWorkspace workspace(ledger_, kMiB, 64 * kKiB);
    std::vector<uint64_t> result;
    largest_piece_ = 0;
    const SortedSink sink = [&](std::span<uint64_t> piece) {
      result.insert(result.end(), piece.begin(), piece.end());
      largest_piece_ = std::max(largest_piece_, piece.size_bytes());
    };
    stream_sorted(spill, 0, range, {ledger_, {folder_.path()}, workspace, sink});
    return result;
  }

  TempFolder folder_;
  memory::Ledger ledger_{kMiB + 64 * kKiB + 3 * kResortBytes};
  size_t largest_piece_ = 0;
};

TEST_F(KeySort, SortsABucketManyTimesItsWorkspace) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> keys(1'500'000);  // 12 MB
  for (uint64_t& key : keys) key = 1000 + random() % (uint64_t{1} << 40);
  const auto result = sorted(keys, {1000, 1000 + (uint64_t{1} << 40)});
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(result, keys);
  EXPECT_LE(largest_piece_, kMiB);
}

TEST_F(KeySort, SortsOneHubsListAndManyCopiesOfOneKey) {
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 300'000; ++i)
    keys.push_back((uint64_t{77} << 32) | (i * 7919 % 300'000));
  keys.insert(keys.end(), 400'000, (uint64_t{77} << 32) | 5);
  const auto result = sorted(keys, {0, ~uint64_t{0}});
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(result, keys);
}

}  // namespace
}  // namespace plimsoll::ingest
