#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "io/file.h"
#include "temp_folder.h"

namespace plimsoll::io {
namespace {

namespace fs = std::filesystem;

// One call of the loader reads this much; its own constant is private.
constexpr uint64_t kPieceBytes = 4 * kStreamBytes;

std::string random_text(size_t size) {
  const RandomStream stream(3, size);
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(stream.at(i));
  return text;
}

void ignore(std::span<const std::byte> /*piece*/) {}

// Each size in the usual temporary folder and on a tmpfs, which may refuse O_DIRECT; by one
// thread and by several.
class LoadOfSize : public testing::TestWithParam<std::tuple<bool, uint64_t>> {};

TEST_P(LoadOfSize, GivesEveryByteOnceToMemoryAndToTheCallback) {
  const auto [tmpfs, size] = GetParam();
  const fs::path parent = tmpfs ? "/dev/shm" : fs::temp_directory_path();
  if (::access(parent.c_str(), W_OK) != 0) GTEST_SKIP() << parent << " cannot be written";
  const TempFolder folder(parent);
  const std::string text = random_text(size);
  write_file(folder / "file", text);
  for (const unsigned threads : {1U, 3U}) {
    memory::Ledger ledger(kGiB);
    const memory::Buffer<std::byte> out(ledger, "rows", size);
    std::mutex mutex;
    std::vector<std::pair<uint64_t, uint64_t>> pieces;  // offset, size
    load({.path = folder / "file", .out = out.span()}, threads,
         [&](std::span<const std::byte> piece) {
           const auto offset = static_cast<uint64_t>(piece.data() - out.data());
           EXPECT_TRUE(std::ranges::equal(
               piece, std::as_bytes(std::span(text)).subspan(offset, piece.size())));
           const std::lock_guard lock(mutex);
           pieces.emplace_back(offset, piece.size());
         });
    EXPECT_TRUE(std::ranges::equal(out.span(), std::as_bytes(std::span(text))));
    std::ranges::sort(pieces);
    uint64_t next = 0;
    for (const auto& [offset, bytes] : pieces) {
      EXPECT_EQ(offset, next);
      EXPECT_GT(bytes, 0U);
      next += bytes;
    }
    EXPECT_EQ(next, size);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, LoadOfSize,
                         testing::Combine(testing::Bool(),
                                          testing::Values(0, 1, 4095, 4096, 4097, kPieceBytes - 1,
                                                          kPieceBytes, kPieceBytes + 1,
                                                          2 * kPieceBytes + 4096 + 5)),
                         [](const auto& param) {
                           const std::string where = std::get<0>(param.param) ? "Tmpfs" : "Disk";
                           return where + std::to_string(std::get<1>(param.param));
                         });

class Load : public testing::Test {
 protected:
  TempFolder folder_;
  fs::path path_ = folder_ / "file";
  memory::Ledger ledger_{64 * kMiB};
};

TEST_F(Load, TakesTheFirstBytesOfALongerFile) {
  const std::string text = random_text(10'000);
  write_file(path_, text);
  const memory::Buffer<std::byte> out(ledger_, "rows", 5000);
  load({.path = path_, .out = out.span()}, 1, ignore);
  EXPECT_TRUE(std::ranges::equal(out.span(), std::as_bytes(std::span(text)).first(5000)));
}

// Only the last bytes, which do not fill a block, come through the cache, with what the kernel
// reads ahead.
TEST_F(Load, LeavesNoTraceInThePageCache) {
  struct statfs disk = {};
  ASSERT_EQ(::statfs(folder_.path().c_str(), &disk), 0);
  if (disk.f_type == TMPFS_MAGIC) GTEST_SKIP() << "the temporary folder is memory";
  constexpr size_t kSize = 3 * kPieceBytes + 5;
  {
    const std::string text = random_text(kSize);
    FileWriter writer(ledger_, path_);
    writer.append(std::as_bytes(std::span(text)));
    writer.finish();
  }
  {
    const memory::Buffer<std::byte> out(ledger_, "rows", kSize);
    load({.path = path_, .out = out.span()}, 2, ignore);
  }
  const OpenFile file = open_uncached(path_, O_RDONLY);
  void* mapped = ::mmap(nullptr, kSize, PROT_READ, MAP_SHARED, file.fd.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident(kSize / page_bytes + 1);
  ASSERT_EQ(::mincore(mapped, kSize, resident.data()), 0);
  ::munmap(mapped, kSize);
  const auto pages = std::ranges::count_if(resident, [](unsigned char page) { return page & 1; });
  EXPECT_LE(static_cast<size_t>(pages) * page_bytes, 2 * kStreamBytes);
}

TEST_F(Load, OfAFileThatIsTooShortIsAnErrorWithItsName) {
  struct Case {
    uint64_t has;
    uint64_t asked;
  };
  for (const auto& [has, asked] :
       {Case{0, 1}, Case{0, 4096}, Case{4096, 4097}, Case{4095, 4096}, Case{5000, 8192},
        Case{5000, 9000}, Case{kPieceBytes, kPieceBytes + 1}, Case{kPieceBytes, 2 * kPieceBytes},
        Case{kPieceBytes + 4096, 2 * kPieceBytes}, Case{kPieceBytes - 7, kPieceBytes + 7}}) {
    write_file(path_, random_text(has));
    const memory::Buffer<std::byte> out(ledger_, "rows", asked);
    for (const unsigned threads : {1U, 2U}) {
      SCOPED_TRACE(std::to_string(has) + " bytes, " + std::to_string(asked) + " asked for");
      expect_error(ErrorKind::io, {path_.string()},
                   [&] { load({.path = path_, .out = out.span()}, threads, ignore); });
    }
  }
}

TEST_F(Load, OfAMissingFileIsAnErrorWithItsName) {
  const memory::Buffer<std::byte> out(ledger_, "rows", 1);
  expect_error(ErrorKind::io, {"cannot open", path_.string()},
               [&] { load({.path = path_, .out = out.span()}, 1, ignore); });
}

TEST_F(Load, PassesOnWhatTheCallbackThrows) {
  write_file(path_, random_text(3 * kPieceBytes));
  const memory::Buffer<std::byte> out(ledger_, "rows", 3 * kPieceBytes);
  for (const unsigned threads : {1U, 3U}) {
    expect_error(ErrorKind::store, {"the second piece"}, [&] {
      load({.path = path_, .out = out.span()}, threads, [&](std::span<const std::byte> piece) {
        if (piece.data() == out.data() + kPieceBytes) fail(ErrorKind::store, "the second piece");
      });
    });
  }
}

TEST_F(Load, OfAnArrayLeasesItAndCountsInValues) {
  constexpr uint64_t kCount = kPieceBytes / sizeof(uint64_t) + 3;
  std::vector<uint64_t> values(kCount);
  for (uint64_t i = 0; i < kCount; ++i) values[i] = mix64(i);
  write_file(path_, {reinterpret_cast<const char*>(values.data()), kCount * sizeof(uint64_t)});
  uint64_t told = 0;
  {
    const auto array =
        load_array<uint64_t>(ledger_, "graph", path_, kCount, 1,
                             [&](std::span<const uint64_t> piece) { told += piece.size(); });
    EXPECT_TRUE(std::ranges::equal(array.span(), values));
    ASSERT_EQ(ledger_.usage().size(), 1U);
    EXPECT_EQ(ledger_.usage().front().tag, "graph");
    EXPECT_EQ(ledger_.used_bytes(), round_up_to_block(kCount * sizeof(uint64_t)));
  }
  EXPECT_EQ(told, kCount);
  EXPECT_EQ(ledger_.used_bytes(), 0U);
}

TEST_F(Load, OfAnArrayBeyondTheLimitIsRefusedBeforeTheFileIsOpened) {
  memory::Ledger small(4096);
  expect_error(ErrorKind::memory, {"graph"}, [&] {
    load_array<uint32_t>(small, "graph", path_, 1025, 1, [](std::span<const uint32_t>) {});
  });
}

}  // namespace
}  // namespace plimsoll::io
