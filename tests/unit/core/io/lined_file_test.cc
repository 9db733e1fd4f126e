#include "io/lined_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::io {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr uint64_t kStep = kLineStepBytes;
constexpr uint64_t kSize = 3 * kStep + 12'345;  // ends within a step, a block and a word

void ignore(std::span<const std::byte> /*piece*/) {}

// How much of a range of memory the kernel keeps.
uint64_t kept_bytes(const std::byte* first, uint64_t bytes) {
  const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page_bytes - 1) / page_bytes);
  EXPECT_EQ(::mincore(const_cast<std::byte*>(first), bytes, pages.data()), 0);
  return page_bytes * static_cast<uint64_t>(std::ranges::count_if(
                          pages, [](unsigned char page) { return (page & 1) != 0; }));
}

class LinedFileTest : public testing::Test {
 protected:
  LinedFileTest() {
    text_.resize(kSize);
    const RandomStream stream(7, 0);
    for (size_t i = 0; i < kSize; ++i) text_[i] = static_cast<char>(stream.at(i / 8) >> i % 8 * 8);
    write_file(path_, text_);
  }
  std::unique_ptr<LinedFile> open(uint64_t bytes = kSize) {
    return std::make_unique<LinedFile>(ledger_, "rows", path_, LinedFile::Shape{.bytes = bytes});
  }
  // Above the line is the file; the lease says how much that is, and the kernel agrees.
  void expect_line(const LinedFile& file, uint64_t line_bytes) {
    EXPECT_EQ(file.line_bytes(), line_bytes);
    EXPECT_EQ(ledger_.used_bytes(), line_bytes);
    EXPECT_EQ(file.resident(), line_bytes == kSize);
    const LinedFile::Use use(file);
    ASSERT_EQ(use.line_bytes, line_bytes);
    EXPECT_TRUE(std::equal(use.data, use.data + line_bytes,
                           reinterpret_cast<const std::byte*>(text_.data())));
    const uint64_t pages = (line_bytes + 4095) / 4096 * 4096;
    EXPECT_EQ(kept_bytes(use.data, (kSize + 4095) / 4096 * 4096), pages);
  }

  TempFolder folder_;
  fs::path path_ = folder_ / "file";
  std::string text_;
  memory::Ledger ledger_{64 * kMiB};
};

TEST_F(LinedFileTest, BeginsWithoutALineAndWithoutALease) {
  const auto file = open();
  EXPECT_EQ(file->bytes(), kSize);
  expect_line(*file, 0);
}

TEST_F(LinedFileTest, IsRaisedToTheStepBelowOrToItsEnd) {
  for (const unsigned threads : {1U, 3U}) {
    const auto file = open();
    const auto raise_to = [&](uint64_t line_bytes) { file->raise(line_bytes, threads, ignore); };
    raise_to(kStep - 1);
    expect_line(*file, 0);
    raise_to(kStep);
    expect_line(*file, kStep);
    raise_to(3 * kStep - 1);
    expect_line(*file, 2 * kStep);
    raise_to(kStep);  // lower: it stays
    expect_line(*file, 2 * kStep);
    raise_to(kSize - 1);
    expect_line(*file, 3 * kStep);
    raise_to(kSize);
    expect_line(*file, kSize);
    raise_to(UINT64_MAX);
    expect_line(*file, kSize);
  }
  EXPECT_EQ(ledger_.used_bytes(), 0U);
}

// The memory of the first is seen by the second, as by another process, and is there once.
TEST_F(LinedFileTest, SharesItsResidentPartWithWhoAdoptsIt) {
  for (const uint64_t line_bytes : {2 * kStep, kSize}) {
    const auto loads = open();
    loads->share(line_bytes);
    ASSERT_GE(loads->shared_memory(), 0);
    loads->raise(line_bytes, 2, ignore);
    expect_line(*loads, line_bytes);
    memory::Ledger other_ledger(64 * kMiB);
    LinedFile maps(other_ledger, "rows", path_, LinedFile::Shape{.bytes = kSize});
    const std::string name = "/proc/self/fd/" + std::to_string(loads->shared_memory());
    maps.adopt(Fd(::open(name.c_str(), O_RDONLY | O_CLOEXEC)), line_bytes);
    EXPECT_EQ(other_ledger.used_bytes(), line_bytes);
    EXPECT_EQ(maps.resident(), line_bytes == kSize);
    const LinedFile::Use use(maps);
    ASSERT_EQ(use.line_bytes, line_bytes);
    EXPECT_EQ(std::memcmp(use.data, text_.data(), line_bytes), 0);
    const LinedFile::Use original(*loads);
    const_cast<std::byte*>(original.data)[17] = std::byte{99};
    EXPECT_EQ(use.data[17], std::byte{99});
  }
}

TEST_F(LinedFileTest, KeepsTheLineOfMemoryThatIsShared) {
  const auto file = open();
  file->share(2 * kStep);
  file->raise(2 * kStep, 1, ignore);
  file->lower_by(kStep);
  expect_line(*file, 2 * kStep);
  const auto nothing =
      std::make_unique<LinedFile>(ledger_, "rows", path_, LinedFile::Shape{.bytes = kSize});
  nothing->share(kStep - 1);
  EXPECT_EQ(nothing->shared_memory(), -1);
}

TEST_F(LinedFileTest, GivesBackAtLeastWhatItIsAskedForOrEverything) {
  const auto file = open();
  file->lower_by(1);
  expect_line(*file, 0);
  file->raise(UINT64_MAX, 2, ignore);
  file->lower_by(1);
  expect_line(*file, 3 * kStep);
  file->lower_by(kStep);
  expect_line(*file, 2 * kStep);
  file->lower_by(kStep / 2);
  expect_line(*file, kStep);
  file->lower_by(2 * kStep);
  expect_line(*file, 0);
  file->raise(UINT64_MAX, 1, ignore);
  file->lower_by(kSize - 2 * kStep);
  expect_line(*file, 2 * kStep);
  file->raise(UINT64_MAX, 1, ignore);
  file->lower_by(kSize - 2 * kStep + 1);
  expect_line(*file, kStep);
  file->lower_by(UINT64_MAX);
  expect_line(*file, 0);
}

TEST_F(LinedFileTest, TellsEveryPieceOnce) {
  const auto file = open();
  const std::byte* data = LinedFile::Use(*file).data;
  std::mutex mutex;
  std::vector<std::pair<uint64_t, uint64_t>> pieces;  // offset, size
  const auto told = [&](std::span<const std::byte> piece) {
    const std::lock_guard lock(mutex);
    pieces.emplace_back(piece.data() - data, piece.size());
  };
  file->raise(kStep, 2, told);
  file->raise(UINT64_MAX, 2, told);
  std::ranges::sort(pieces);
  uint64_t next = 0;
  for (const auto& [offset, size] : pieces) {
    EXPECT_EQ(offset, next);
    next += size;
  }
  EXPECT_EQ(next, kSize);
}

TEST_F(LinedFileTest, MayHaveItsLineInALongerFile) {
  const auto file = open(kStep + 100);
  file->raise(UINT64_MAX, 1, ignore);
  EXPECT_TRUE(file->resident());
  EXPECT_EQ(ledger_.used_bytes(), kStep + 100);
  const LinedFile::Use use(*file);
  EXPECT_TRUE(std::equal(use.data, use.data + use.line_bytes,
                         reinterpret_cast<const std::byte*>(text_.data())));
}

TEST_F(LinedFileTest, RefusesAFileThatIsTooShort) {
  expect_error(ErrorKind::store,
               {path_.string(), std::to_string(kSize) + " bytes", std::to_string(kSize + 1)},
               [&] { open(kSize + 1); });
  expect_error(ErrorKind::io, {"cannot open"}, [&] { path_ = folder_ / "none", open(); });
}

// A hole is read in no time: this one in several goes, each with a lease of its own.
TEST_F(LinedFileTest, IsRaisedInSeveralGoes) {
  constexpr uint64_t kLarge = 80 * kStep + 1;
  fs::resize_file(path_, kLarge);
  memory::Ledger ledger(kLarge);
  LinedFile file(ledger, "rows", path_, {.bytes = kLarge});
  std::atomic<uint64_t> told_bytes = 0;
  file.raise(UINT64_MAX, 2, [&](std::span<const std::byte> piece) { told_bytes += piece.size(); });
  EXPECT_TRUE(file.resident());
  EXPECT_EQ(told_bytes, kLarge);
  ASSERT_EQ(ledger.usage().size(), 1U);
  EXPECT_EQ(ledger.usage().front().tag, "rows");
  EXPECT_EQ(ledger.usage().front().bytes, kLarge);
  file.lower_by(10 * kStep);
  EXPECT_EQ(file.line_bytes(), 70 * kStep);
  EXPECT_EQ(ledger.used_bytes(), 70 * kStep);
}

TEST_F(LinedFileTest, RisesAsFarAsThereIsRoomToSpare) {
  const auto file = open();
  int asked = 0;
  const auto reclaimer = ledger_.on_shortage([&](uint64_t) { ++asked; });
  for (const uint64_t left : {uint64_t{0}, kStep - 1, kStep, 2 * kStep + 5, kSize - 1}) {
    {
      const memory::Lease others = ledger_.lease("others", ledger_.available_bytes() - left);
      file->raise(UINT64_MAX, 1, ignore);
      EXPECT_EQ(file->line_bytes(), left / kStep * kStep);
      EXPECT_EQ(ledger_.used_bytes(), others.bytes() + file->line_bytes());
    }
    file->lower_by(UINT64_MAX);
  }
  EXPECT_EQ(asked, 0) << "somebody was asked to give memory back for a line";
  const memory::Lease others = ledger_.lease("others", ledger_.available_bytes() - kSize);
  file->raise(UINT64_MAX, 1, ignore);
  EXPECT_TRUE(file->resident());
}

TEST_F(LinedFileTest, StaysWhereItIsWhileItIsUsed) {
  const auto file = open();
  file->raise(UINT64_MAX, 1, ignore);
  std::optional<LinedFile::Use> first(std::in_place, *file);
  std::optional<LinedFile::Use> second;
  std::thread([&] { second.emplace(*file); }).join();
  std::atomic<bool> lowered = false;
  std::jthread lowering([&] {
    file->lower_by(UINT64_MAX);
    lowered = true;
  });
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_FALSE(lowered);
  first.reset();
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_FALSE(lowered) << "one user of two is left";
  EXPECT_EQ(kept_bytes(second->data, kSize), (kSize + 4095) / 4096 * 4096);
  EXPECT_TRUE(std::equal(second->data, second->data + kSize,
                         reinterpret_cast<const std::byte*>(text_.data())));
  second.reset();
  lowering.join();
  expect_line(*file, 0);
}

// Who comes while the line is on its way down waits, so that it gets there at all.
TEST_F(LinedFileTest, LetsNobodyInWhileItIsLowered) {
  const auto file = open();
  file->raise(UINT64_MAX, 1, ignore);
  std::optional<LinedFile::Use> first(std::in_place, *file);
  std::jthread lowering([&] { file->lower_by(kStep); });
  std::this_thread::sleep_for(milliseconds(50));
  auto later = std::async(std::launch::async, [&] { return LinedFile::Use(*file).line_bytes; });
  EXPECT_EQ(later.wait_for(milliseconds(50)), std::future_status::timeout);
  first.reset();
  EXPECT_EQ(later.get(), 2 * kStep);
}

TEST_F(LinedFileTest, ThatIsLoweredWhileItRisesEndsLow) {
  const auto file = open();
  file->raise(kStep, 1, ignore);
  bool once = false;
  file->raise(UINT64_MAX, 1, [&](std::span<const std::byte>) {
    if (!once) file->lower_by(1);
    once = true;
  });
  expect_line(*file, 0);
  file->raise(UINT64_MAX, 1, ignore);
  expect_line(*file, kSize);
}

// A store that is made anew under the same name is another store.
TEST_F(LinedFileTest, ReadsTheFileThatWasOpenedWhoeverHasItsNameNow) {
  const auto file = open();
  file->raise(kStep, 1, ignore);
  write_file(folder_ / "other", std::string(kSize, 'x'));
  fs::rename(folder_ / "other", path_);
  file->check_unchanged();
  file->raise(UINT64_MAX, 1, ignore);
  expect_line(*file, kSize);
}

TEST_F(LinedFileTest, NoticesThatItsFileWasWrittenTo) {
  const auto file = open();
  file->raise(kStep, 1, ignore);
  file->check_unchanged();
  fs::last_write_time(path_, fs::last_write_time(path_) + std::chrono::seconds(1));
  expect_error(ErrorKind::store, {path_.string(), "was changed while it was being read"},
               [&] { file->check_unchanged(); });
  file->raise(UINT64_MAX, 1, ignore);  // what is there now may be something else
  expect_line(*file, kStep);
}

TEST_F(LinedFileTest, DoesNotMindAWrittenFileOfWhichItReadsNothing) {
  const auto file = open();
  file->raise(UINT64_MAX, 1, ignore);
  fs::resize_file(path_, 10);
  file->check_unchanged();
}

TEST_F(LinedFileTest, MovesUnderManyThreads) {
  const auto file = open();
  std::atomic<bool> done = false;
  std::atomic<uint64_t> wrong = 0;
  std::atomic<uint64_t> looked = 0;
  const auto look = [&](uint64_t thread) {
    const RandomStream stream(1, thread);
    for (uint64_t i = 0; !done; ++i) {
      const LinedFile::Use use(*file);
      for (uint64_t k = 0; k < 200 && use.line_bytes > 0; ++k) {
        const uint64_t place = below(stream.at(i * 200 + k), use.line_bytes);
        if (use.data[place] != static_cast<std::byte>(text_[place])) ++wrong;
        ++looked;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < 3; ++t) threads.emplace_back(look, t);
    threads.emplace_back([&] {
      for (uint64_t i = 0; !done; ++i) {
        file->lower_by(below(RandomStream(2, 0).at(i), 2 * kStep));
        std::this_thread::sleep_for(milliseconds(1));
      }
    });
    for (int i = 0; i < 40 || looked < 1000; ++i) file->raise(UINT64_MAX, 2, ignore);
    done = true;
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(looked, 0U);
  EXPECT_EQ(ledger_.used_bytes(), file->line_bytes());
}

// A lease that does not fit makes room for itself.
TEST_F(LinedFileTest, GoesDownForWhoNeedsTheMemory) {
  const auto file = open();
  const auto reclaimer = ledger_.on_shortage([&](uint64_t bytes) { file->lower_by(bytes); });
  file->raise(UINT64_MAX, 1, ignore);
  const memory::Lease some = ledger_.lease("others", ledger_.available_bytes() + 1);
  EXPECT_EQ(file->line_bytes(), 3 * kStep);
  const memory::Lease most = ledger_.lease("others", ledger_.available_bytes() + 3 * kStep);
  EXPECT_EQ(file->line_bytes(), 0U);
  EXPECT_FALSE(ledger_.try_lease("others", ledger_.available_bytes() + 1));
}

TEST_F(LinedFileTest, HasAreasBehindItThatOneIndexReaches) {
  constexpr uint64_t kArea = 3 * 4096 + 100;
  LinedFile file(ledger_, "rows", path_, {.bytes = kSize, .areas = 2, .area_bytes = kArea});
  file.raise(kStep, 1, ignore);
  std::optional<LinedFile::Area> one(std::in_place, file, "area");
  std::optional<LinedFile::Area> two(std::in_place, file, "area");
  EXPECT_EQ(ledger_.used_bytes(), kStep + 2 * 4 * 4096U);
  for (auto* area : {&*one, &*two}) {
    ASSERT_EQ(area->memory().size(), kArea);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(area->memory().data()) % 4096, 0U);
    EXPECT_GE(area->memory().data(), LinedFile::Use(file).data + kSize);
    std::ranges::fill(area->memory(), std::byte{0x5a});
  }
  EXPECT_GE(two->memory().data(), one->memory().data() + kArea);
  file.lower_by(UINT64_MAX);
  file.raise(UINT64_MAX, 1, ignore);
  for (auto* area : {&*one, &*two}) {
    EXPECT_TRUE(
        std::ranges::all_of(area->memory(), [](std::byte b) { return b == std::byte{0x5a}; }));
  }
  expect_error(ErrorKind::internal, {"all 2 areas", path_.string()},
               [&] { const LinedFile::Area third(file, "area"); });
  EXPECT_EQ(ledger_.used_bytes(), kSize + 2 * 4 * 4096U);

  std::byte* const place = one->memory().data();
  one.reset();
  EXPECT_EQ(kept_bytes(place, 4 * 4096), 0U);
  EXPECT_EQ(ledger_.used_bytes(), kSize + 4 * 4096U);
  one.emplace(file, "area");
  EXPECT_EQ(one->memory().data(), place);
  EXPECT_EQ(one->memory()[0], std::byte{0});
}

TEST_F(LinedFileTest, AreasOfAShortFileTakeNoMoreMemoryThanTheyLease) {
  LinedFile file(ledger_, "rows", path_, {.bytes = 10, .areas = 1, .area_bytes = 4 * kStep});
  const LinedFile::Area area(file, "area");
  area.memory()[kStep] = std::byte{1};
  EXPECT_EQ(kept_bytes(area.memory().data(), 4 * kStep), 4096U);
}

TEST_F(LinedFileTest, RefusesAnAreaThatTheLedgerHasNoRoomFor) {
  LinedFile file(ledger_, "rows", path_, {.bytes = kSize, .areas = 1, .area_bytes = kStep});
  std::optional<memory::Lease> others = ledger_.lease("others", ledger_.available_bytes() - 4096);
  expect_error(ErrorKind::memory, {"area"}, [&] { const LinedFile::Area area(file, "area"); });
  others.reset();
  const LinedFile::Area area(file, "area");
}

TEST(LinedFileOfNothing, IsResident) {
  const TempFolder folder;
  write_file(folder / "file", "");
  memory::Ledger ledger(kMiB);
  LinedFile file(ledger, "rows", folder / "file", {});
  EXPECT_TRUE(file.resident());
  file.raise(UINT64_MAX, 1, ignore);
  file.lower_by(1);
  EXPECT_EQ(LinedFile::Use(file).line_bytes, 0U);
}

TEST(LinedFileWithoutAFile, KeepsItsPagesAndItsLine) {
  memory::Ledger ledger(kMiB);
  {
    memory::Pages pages(ledger, "rows", 5000);
    std::fill_n(static_cast<char*>(pages.data()), 5000, 'x');
    LinedFile file(std::move(pages), 5000);
    EXPECT_TRUE(file.resident());
    file.lower_by(UINT64_MAX);
    const LinedFile::Use use(file);
    EXPECT_EQ(use.line_bytes, 5000U);
    EXPECT_TRUE(
        std::all_of(use.data, use.data + 5000, [](std::byte b) { return b == std::byte{'x'}; }));
    EXPECT_EQ(ledger.used_bytes(), 8192U);
  }
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

}  // namespace
}  // namespace plimsoll::io
