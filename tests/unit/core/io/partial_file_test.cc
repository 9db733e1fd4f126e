#include "io/partial_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::io {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class PartialFileTest : public testing::Test {
 protected:
  TempFolder folder_;
  fs::path path_ = folder_ / "model.pt";
};

TEST_F(PartialFileTest, GetsItsNameWhenItIsWhole) {
  {
    PartialFile file(path_);
    file.append(bytes_of("one "));
    file.append(bytes_of(""));
    file.append(bytes_of("two"));
    EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"model.pt.partial"});
    file.commit();
    EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"model.pt"});
  }
  EXPECT_EQ(read_file(path_), "one two");
}

// Pages that wait for the disk count towards a memory limit, and the kernel cannot drop them.
TEST_F(PartialFileTest, LeavesNoPagesInTheCacheWhileItIsWritten) {
  struct statfs where = {};
  ASSERT_EQ(::statfs(folder_.path().c_str(), &where), 0);
  if (where.f_type == TMPFS_MAGIC) GTEST_SKIP() << "a file in memory is its pages";
  constexpr uint64_t kBytes = 24 * kMiB;
  const std::vector<std::byte> block(kBytes, std::byte{7});
  PartialFile file(path_);
  file.append(block);
  const Fd fd(::open(file.file().path.c_str(), O_RDONLY | O_CLOEXEC));
  void* const map = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(map, MAP_FAILED);
  std::vector<unsigned char> cached(kBytes / 4096);
  EXPECT_EQ(::mincore(map, kBytes, cached.data()), 0);
  EXPECT_LT(std::ranges::count_if(cached, [](unsigned char page) { return (page & 1) != 0; }),
            cached.size() / 4);
  ::munmap(map, kBytes);
}

TEST_F(PartialFileTest, ReplacesALongerFileAtOnce) {
  write_file(path_, "what was there before");
  PartialFile file(path_);
  file.append(bytes_of("new"));
  EXPECT_EQ(read_file(path_), "what was there before");
  file.commit();
  EXPECT_EQ(read_file(path_), "new");
}

TEST_F(PartialFileTest, WithoutCommitLeavesTheOldFileAndNoOther) {
  write_file(path_, "what was there before");
  {
    PartialFile file(path_);
    file.append(bytes_of("half of what"));
  }
  EXPECT_EQ(read_file(path_), "what was there before");
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"model.pt"});
}

TEST_F(PartialFileTest, WithoutCommitLeavesNothingWhereNothingWas) {
  { const PartialFile file(path_); }
  EXPECT_TRUE(names_in(folder_.path()).empty());
}

TEST_F(PartialFileTest, MayBeEmpty) {
  PartialFile file(path_);
  file.commit();
  EXPECT_EQ(read_file(path_), "");
}

TEST_F(PartialFileTest, BeginsAnewOverTheRemainsOfAKilledRun) {
  write_file(path_.string() + ".partial", "the remains of a run that was killed");
  PartialFile file(path_);
  file.append(bytes_of("new"));
  file.commit();
  EXPECT_EQ(read_file(path_), "new");
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"model.pt"});
}

TEST_F(PartialFileTest, InAMissingFolderIsAnErrorWithItsName) {
  const fs::path path = folder_ / "missing/model.pt";
  expect_error(ErrorKind::io, {"cannot open", path.string()},
               [&] { const PartialFile file(path); });
  EXPECT_TRUE(names_in(folder_.path()).empty());
}

TEST_F(PartialFileTest, ThatCannotGetItsNameIsRemoved) {
  write_file(path_ / "inside", "the name is a folder's");
  {
    PartialFile file(path_);
    file.append(bytes_of("new"));
    expect_error(ErrorKind::io, {"cannot rename", path_.string()}, [&] { file.commit(); });
  }
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"model.pt"});
  EXPECT_EQ(read_file(path_ / "inside"), "the name is a folder's");
}

TEST_F(PartialFileTest, DoesNotWriteThroughALinkThatHasItsPartialName) {
  write_file(folder_ / "victim", "precious");
  fs::create_symlink(folder_ / "victim", path_.string() + ".partial");
  expect_error(ErrorKind::io, {"model.pt.partial"}, [&] { const PartialFile file(path_); });
  EXPECT_EQ(read_file(folder_ / "victim"), "precious");
}

TEST_F(PartialFileTest, HasANameOfItsOwnBesideAnotherWriters) {
  PartialFile first(path_);
  first.append(bytes_of("first"));
  PartialFile second(path_);
  second.append(bytes_of("second"));
  EXPECT_EQ(names_in(folder_.path()),
            (std::vector<std::string>{"model.pt.2.partial", "model.pt.partial"}));
  second.commit();
  EXPECT_EQ(read_file(path_), "second");
  first.commit();
  EXPECT_EQ(read_file(path_), "first");
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"model.pt"});
}

TEST_F(PartialFileTest, OfManyWritersAtOnceIsOneOfTheirs) {
  constexpr int kWriters = 4;
  constexpr int kTimes = 50;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      const std::string text(10'000, static_cast<char>('a' + writer));
      for (int i = 0; i < kTimes; ++i) {
        PartialFile file(path_);
        file.append(bytes_of(text));
        file.commit(Sync::no);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string text = read_file(path_);
  EXPECT_EQ(text, std::string(10'000, text.at(0)));
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"model.pt"});
}

TEST_F(PartialFileTest, MayHaveTheLongestName) {
  const std::string name(255, 'n');
  PartialFile file(folder_ / name);
  file.append(bytes_of("long"));
  file.commit();
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{name});
}

// The folder of a name without one is the current folder.
TEST_F(PartialFileTest, WorksWithANameAlone) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  {
    PartialFile file("model.pt");
    file.append(bytes_of("here"));
    file.commit();
  }
  fs::current_path(before);
  EXPECT_EQ(read_file(path_), "here");
}

TEST_F(PartialFileTest, HoldsManyAppendsInOrder) {
  std::string expected;
  PartialFile file(path_);
  for (int i = 0; i < 1000; ++i) {
    const std::string part(static_cast<size_t>(i % 97), static_cast<char>('a' + i % 26));
    file.append(bytes_of(part));
    expected += part;
  }
  file.commit();
  EXPECT_EQ(read_file(path_), expected);
}

}  // namespace
}  // namespace plimsoll::io
