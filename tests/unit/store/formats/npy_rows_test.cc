#include "formats/npy_rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::formats {
namespace {

class NpyRowsOf : public testing::TestWithParam<uint64_t> {
 protected:
  NpyRows::Options options(uint64_t rows) const {
    return {folder_ / "out.npy", GetParam() == 0 ? NpyType::int64 : NpyType::float32, rows,
            GetParam()};
  }
  // A row of bytes that tell its number.
  std::vector<std::byte> row(uint64_t number) const {
    std::vector<std::byte> bytes(GetParam() == 0 ? 8 : 4 * GetParam());
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>((number >> (8 * (i % 4))) + i);
    }
    return bytes;
  }

  TempFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Columns, NpyRowsOf, testing::Values(0, 1, 7, 172, 20'000));

TEST_P(NpyRowsOf, PutsEveryRowInItsPlace) {
  const uint64_t rows = GetParam() > 1'000 ? 700 : 90'001;
  const uint64_t step = 7'919;  // a prime: visits every row once
  memory::Ledger ledger(NpyRows::bytes_needed(options(rows)));
  NpyRows out(options(rows), ledger);
  for (uint64_t i = 0; i < rows; ++i) out.put(i * step % rows, row(i * step % rows));
  out.finish();
  const std::string file = read_file(folder_ / "out.npy");
  const std::vector<uint64_t> shape =
      GetParam() == 0 ? std::vector{rows} : std::vector{rows, GetParam()};
  const std::string header = npy_header(options(rows).type, shape);
  ASSERT_EQ(file.size(), npy_bytes(options(rows).type, shape));
  ASSERT_EQ(file.compare(0, header.size(), header), 0);
  for (uint64_t i = 0; i < rows; ++i) {
    const auto expected = row(i);
    ASSERT_EQ(std::memcmp(file.data() + header.size() + i * expected.size(), expected.data(),
                          expected.size()),
              0)
        << "row " << i;
  }
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"out.npy"});
}

TEST_P(NpyRowsOf, WritesNothingWhereARowIsMissing) {
  memory::Ledger ledger(64 * kMiB);
  {
    NpyRows out(options(3), ledger);
    out.put(0, row(0));
    expect_error(ErrorKind::internal, {"were not all given"}, [&] { out.finish(); });
  }
  EXPECT_TRUE(names_in(folder_.path()).empty());
}

// All nodes of papers100M with 172 values each are 76 GB.
TEST(NpyRowsOfAHugeGraph, TakeLittleMemory) {
  EXPECT_LT(NpyRows::bytes_needed({"out.npy", NpyType::float32, 111'059'956, 172}), 160 * kMiB);
  EXPECT_LT(NpyRows::bytes_needed({"out.npy", NpyType::int64, 111'059'956, 0}), 32 * kMiB);
}

}  // namespace
}  // namespace plimsoll::formats
