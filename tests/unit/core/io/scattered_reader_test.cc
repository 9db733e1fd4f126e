#include "io/scattered_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::io {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSize = 300'000;  // ends within a sector

std::string random_text(size_t size) {
  const RandomStream stream(5, size);
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(stream.at(i));
  return text;
}

// In the usual temporary folder and on a tmpfs, which may refuse O_DIRECT; by both methods.
class Scattered : public testing::TestWithParam<std::tuple<bool, ReadMethod>> {
 protected:
  void SetUp() override {
    const fs::path parent = std::get<0>(GetParam()) ? "/dev/shm" : fs::temp_directory_path();
    folder_.emplace(parent);
    write_file(*folder_ / "file", text_);
    file_ = open_rows(*folder_ / "file");
  }
  std::unique_ptr<ScatteredReader> make(uint64_t room_bytes, unsigned depth = 16) {
    try {
      auto reader = std::make_unique<ScatteredReader>(
          ledger_,
          ReadOptions{.method = std::get<1>(GetParam()), .depth = depth, .room_bytes = room_bytes});
      reader->queue();
      return reader;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io) throw;
      return nullptr;  // no io_uring here
    }
  }
  // Wants these places, tagged by their number, and checks that each comes once, in order.
  void expect_values(ScatteredReader& reader, const std::vector<uint64_t>& offsets,
                     uint32_t bytes) {
    reader.expect(offsets.size());
    for (uint64_t i = 0; i < offsets.size(); ++i) reader.want(offsets[i], i);
    EXPECT_EQ(reader.wanted(), offsets.size());
    std::vector<int> times(offsets.size());
    uint64_t last = 0;
    reader.read(file_, bytes, [&](uint64_t tag, const std::byte* value) {
      ASSERT_LT(tag, offsets.size());
      ++times[tag];
      EXPECT_GE(offsets[tag], last);
      last = offsets[tag];
      EXPECT_EQ(std::memcmp(value, text_.data() + offsets[tag], bytes), 0) << "at " << last;
    });
    EXPECT_EQ(std::ranges::count(times, 1), static_cast<ptrdiff_t>(times.size()));
    EXPECT_EQ(reader.wanted(), 0U);
  }
  std::vector<uint64_t> random_offsets(uint64_t count, uint32_t bytes, uint64_t seed) const {
    std::vector<uint64_t> offsets(count);
    for (uint64_t i = 0; i < count; ++i) {
      offsets[i] = below(RandomStream(seed, bytes).at(i), kSize - bytes + 1);
    }
    return offsets;
  }

  const std::string text_ = random_text(kSize);
  std::optional<TempFolder> folder_;
  RowFile file_;
  memory::Ledger ledger_{64 * kMiB};
};

INSTANTIATE_TEST_SUITE_P(Methods, Scattered,
                         testing::Combine(testing::Bool(),
                                          testing::Values(ReadMethod::uring, ReadMethod::threads)),
                         [](const auto& param) {
                           return std::string(std::get<0>(param.param) ? "Tmpfs" : "Disk") +
                                  (std::get<1>(param.param) == ReadMethod::uring ? "Uring"
                                                                                 : "Threads");
                         });

TEST_P(Scattered, ReadsValuesAtRandomPlaces) {
  const auto reader = make(kMiB);
  if (reader == nullptr) GTEST_SKIP() << "no io_uring here";
  for (const uint32_t bytes : {1U, 4U, 16U, 511U, 512U, 513U, 5000U}) {
    for (const uint64_t count : {1U, 2U, 300U}) {
      expect_values(*reader, random_offsets(count, bytes, count), bytes);
    }
  }
}

TEST_P(Scattered, ReadsValuesAcrossSectorsAndAtBothEnds) {
  const auto reader = make(kMiB);
  if (reader == nullptr) GTEST_SKIP() << "no io_uring here";
  for (const uint32_t bytes : {4U, 16U, 600U}) {
    std::vector<uint64_t> offsets = {0, 1, kSize - bytes, kSize - bytes - 1};
    for (uint64_t edge = 512; edge < kSize - bytes; edge += 512 * 37) {
      for (const uint64_t before : {uint64_t{bytes}, uint64_t{bytes} / 2, uint64_t{1}}) {
        if (edge >= before) offsets.push_back(edge - before);
      }
      offsets.push_back(edge);
    }
    std::ranges::reverse(offsets);
    expect_values(*reader, offsets, bytes);
    expect_values(*reader, {kSize - bytes}, bytes);
  }
}

TEST_P(Scattered, ReadsInRoundsWhereTheRoomIsSmall) {
  for (const uint64_t room_bytes : {1U, 4096U, 10'000U, 100'000U}) {
    const auto reader = make(room_bytes);
    if (reader == nullptr) GTEST_SKIP() << "no io_uring here";
    for (const uint32_t bytes : {4U, 16U, 3000U}) {
      expect_values(*reader, random_offsets(2000, bytes, room_bytes), bytes);
    }
    // All of the file, so that all wants touch.
    std::vector<uint64_t> all;
    for (uint64_t offset = 0; offset + 100 <= kSize; offset += 100) all.push_back(offset);
    expect_values(*reader, all, 100);
  }
}

TEST_P(Scattered, ReadsEachSectorOnce) {
  const auto reader = make(kMiB);
  if (reader == nullptr) GTEST_SKIP() << "no io_uring here";
  // Three values of a sector, one of the next, and one far away; some of them twice.
  const uint64_t sector = file_.alignment;
  expect_values(*reader, {5, 9, 5, 300, sector + 4, 9, 40 * sector}, 4);
  const ReadQueue::Counts counts = reader->counts();
  if (sector == 1) {
    EXPECT_EQ(counts.bytes, 5 * 4U);
  } else {
    EXPECT_EQ(counts.reads, 2U);
    EXPECT_EQ(counts.bytes, 3 * sector);
  }
}

TEST_P(Scattered, ReadsAPlaceThatIsWantedByMany) {
  const auto reader = make(4096);
  if (reader == nullptr) GTEST_SKIP() << "no io_uring here";
  expect_values(*reader, std::vector<uint64_t>(5000, kSize - 16), 16);
  expect_values(*reader, std::vector<uint64_t>(5000, 0), 16);
}

TEST_P(Scattered, ReadsNothingWhereNothingIsWanted) {
  const auto reader = make(kMiB);
  if (reader == nullptr) GTEST_SKIP() << "no io_uring here";
  expect_values(*reader, {}, 4);
  EXPECT_EQ(reader->counts().reads, 0U);
}

TEST_P(Scattered, LeasesWhatItHolds) {
  {
    const auto reader = make(kMiB);
    if (reader == nullptr) GTEST_SKIP() << "no io_uring here";
    expect_values(*reader, random_offsets(1000, 4, 1), 4);
    EXPECT_GE(ledger_.used_bytes(), kMiB + 1000 * 16);
    EXPECT_LE(ledger_.used_bytes(), 3 * kMiB);
    const uint64_t used_bytes = ledger_.used_bytes();
    for (uint64_t i = 0; i < 5; ++i) expect_values(*reader, random_offsets(900, 4, 2), 4);
    EXPECT_EQ(ledger_.used_bytes(), used_bytes);
  }
  EXPECT_EQ(ledger_.used_bytes(), 0U);
}

TEST(ScatteredReader, OpensItsQueueAtTheFirstUse) {
  memory::Ledger ledger(0);
  const ScatteredReader reader(ledger, {});
  EXPECT_EQ(reader.counts().reads, 0U);
}

}  // namespace
}  // namespace plimsoll::io
