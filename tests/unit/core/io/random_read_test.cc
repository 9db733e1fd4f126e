#include "io/random_read.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "memory/buffer.h"
#include "temp_folder.h"

namespace plimsoll::io {
namespace {

namespace fs = std::filesystem;

std::string random_text(size_t size) {
  const RandomStream stream(1, size);
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(stream.at(i));
  return text;
}

// A file of random bytes and a queue of each kind.
class ReadQueueTest : public testing::TestWithParam<ReadMethod> {
 protected:
  void SetUp() override {
    try {
      queue_ = ReadQueue::open(ledger_, GetParam(), 64);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  void make_file(size_t size) {
    text_ = random_text(size);
    write_file(path_, text_);
  }

  // `count` pieces of 1 to `most` sectors anywhere in the file, one after the other in `area_`.
  std::vector<Piece> random_pieces(const RowFile& file, size_t count, uint32_t most) {
    const RandomStream random(2, count);
    area_ = memory::Buffer<std::byte>(ledger_, "rows", count * most * file.alignment);
    std::byte* to = area_.data();
    std::vector<Piece> pieces(count);
    for (size_t i = 0; i < count; ++i) {
      const auto sectors = static_cast<uint32_t>(1 + below(random.at(2 * i), most));
      const uint64_t places = (file.size_bytes + file.alignment - 1) / file.alignment - sectors + 1;
      pieces[i] = {below(random.at(2 * i + 1), places) * file.alignment,
                   static_cast<uint32_t>(sectors * file.alignment), to};
      to += pieces[i].bytes;
    }
    return pieces;
  }

  void expect_content(std::span<const Piece> pieces) const {
    for (const Piece& piece : pieces) {
      const auto bytes = std::min<uint64_t>(piece.bytes, text_.size() - piece.offset);
      ASSERT_EQ(std::memcmp(piece.to, text_.data() + piece.offset, bytes), 0) << piece.offset;
    }
  }

  void expect_reads(size_t count, uint32_t most) {
    const RowFile file = open_rows(path_);
    const std::vector<Piece> pieces = random_pieces(file, count, most);
    queue_->read(file, pieces);
    expect_content(pieces);
  }

  TempFolder folder_;
  fs::path path_ = folder_ / "rows";
  std::string text_;
  memory::Ledger ledger_{256 * kMiB};
  memory::Buffer<std::byte> area_;
  std::unique_ptr<ReadQueue> queue_;
};

TEST_P(ReadQueueTest, ReadsPiecesOfAllSizes) {
  make_file(4 * kMiB);
  expect_reads(3000, 40);
}

TEST_P(ReadQueueTest, ReadsOnePiece) {
  make_file(kMiB);
  expect_reads(1, 1);
}

TEST_P(ReadQueueTest, ReadsNothing) {
  make_file(kMiB);
  queue_->read(open_rows(path_), {});
  EXPECT_EQ(queue_->counts().reads, 0U);
}

TEST_P(ReadQueueTest, ReadsManyMorePiecesThanItsDepth) {
  make_file(8 * kMiB);
  expect_reads(100'000, 1);
}

TEST_P(ReadQueueTest, ReadsOneAtATime) {
  make_file(kMiB);
  queue_.reset();
  queue_ = ReadQueue::open(ledger_, GetParam(), 1);
  expect_reads(50, 3);
}

TEST_P(ReadQueueTest, ReadsPiecesOfMegabytes) {
  make_file(32 * kMiB);
  expect_reads(8, 2 * kMiB / 512);
}

TEST_P(ReadQueueTest, ReadsTheEndOfAFileThatIsNoMultipleOfASector) {
  for (const uint64_t size : {1, 511, 513, 4097, 100'001}) {
    make_file(size);
    const RowFile file = open_rows(path_);
    EXPECT_EQ(file.size_bytes, size);
    const auto bytes =
        static_cast<uint32_t>((size + file.alignment - 1) / file.alignment * file.alignment);
    area_ = memory::Buffer<std::byte>(ledger_, "rows", bytes);
    const Piece whole = {0, bytes, area_.data()};
    queue_->read(file, {&whole, 1});
    expect_content({&whole, 1});
    const Piece last = {bytes - file.alignment, static_cast<uint32_t>(file.alignment),
                        area_.data()};
    queue_->read(file, {&last, 1});
    expect_content({&last, 1});
  }
}

TEST_P(ReadQueueTest, ReadsSeveralFilesInTurn) {
  make_file(kMiB);
  expect_reads(100, 1);
  path_ = folder_ / "others";
  make_file(2 * kMiB);
  expect_reads(100, 1);
}

TEST_P(ReadQueueTest, ReadsOnAnotherThreadThanItWasOpenedOn) {
  make_file(kMiB);
  std::thread([&] { expect_reads(500, 2); }).join();
  expect_reads(500, 2);
}

TEST_P(ReadQueueTest, CountsWhatItRead) {
  make_file(kMiB);
  expect_reads(10, 1);
  expect_reads(20, 1);
  const ReadQueue::Counts& counts = queue_->counts();
  EXPECT_EQ(counts.reads, 30U);
  EXPECT_EQ(counts.bytes, 30 * open_rows(path_).alignment);
  EXPECT_GT(counts.seconds, 0);
}

TEST_P(ReadQueueTest, ReadsFromATmpfs) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "/dev/shm cannot be written";
  const TempFolder folder("/dev/shm");
  path_ = folder / "rows";
  make_file(kMiB + 17);
  expect_reads(1000, 4);
}

TEST_P(ReadQueueTest, ReadsWhereThereIsNoODirect) {
  const fs::path disk = folder_ / "disk";
  fs::create_directory(disk);
  if (::mount("ramfs", disk.c_str(), "ramfs", 0, "") != 0) {
    GTEST_SKIP() << "mounting a ramfs needs root";
  }
  path_ = disk / "rows";
  make_file(100'001);
  const RowFile file = open_rows(path_);
  if (!file.file.direct) {
    EXPECT_EQ(file.alignment, 1U);
  }
  expect_reads(1000, 4);
  const Piece odd = {12'345, 678, area_.data()};
  if (file.alignment == 1) {
    queue_->read(file, {&odd, 1});
    expect_content({&odd, 1});
  }
  ::umount2(disk.c_str(), MNT_DETACH);
}

TEST_P(ReadQueueTest, RefusesAFileThatWasCutWhileReading) {
  make_file(kMiB);
  const RowFile file = open_rows(path_);
  const std::vector<Piece> pieces = random_pieces(file, 1000, 4);
  for (const uint64_t left : {kMiB / 2, kMiB / 2 + 100, uint64_t{0}}) {
    fs::resize_file(path_, left);
    expect_error(ErrorKind::store,
                 {path_.string(), "it has " + std::to_string(left) + " bytes now",
                  "had 1048576 when it was opened", "truncated or replaced"},
                 [&] { queue_->read(file, pieces); });
  }
  make_file(kMiB);
  expect_reads(1000, 4);
}

TEST_P(ReadQueueTest, SaysWhichReadFailed) {
  make_file(kMiB);
  RowFile file = open_rows(path_);
  const std::vector<Piece> pieces = random_pieces(file, 1, 1);
  file.file.fd = Fd(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  expect_error(ErrorKind::io,
               {path_.string(), fmt::format("{} bytes at {}", pieces[0].bytes, pieces[0].offset),
                "directory"},
               [&] { queue_->read(file, pieces); });
  EXPECT_EQ(queue_->counts().reads, 0U);
}

TEST_P(ReadQueueTest, IsUsableAfterAFailure) {
  make_file(kMiB);
  RowFile closed = open_rows(path_);
  const std::vector<Piece> pieces = random_pieces(closed, 10'000, 1);
  closed.file.fd = Fd();
  for (int i = 0; i < 3; ++i) {
    expect_error(ErrorKind::io, {path_.string(), "Bad file descriptor"},
                 [&] { queue_->read(closed, pieces); });
    expect_reads(10'000, 1);
  }
}

TEST_P(ReadQueueTest, HasNoReadUnderWayAfterAFailure) {
  make_file(8 * kMiB);
  const RowFile file = open_rows(path_);
  if (!file.file.direct) GTEST_SKIP() << "no O_DIRECT in " << folder_.path();
  const std::vector<Piece> pieces = random_pieces(file, 300, 64);
  for (const size_t bad : {0U, 20U, 150U}) {
    std::vector<Piece> some = pieces;
    some[bad] = {1, 511, some[bad].to + 1};
    expect_error(ErrorKind::io, {"Invalid argument"}, [&] { queue_->read(file, some); });
    std::ranges::fill(area_.span(), std::byte{0xab});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(
        std::ranges::all_of(area_.span(), [](std::byte b) { return b == std::byte{0xab}; }));
  }
}

TEST_P(ReadQueueTest, RefusesAPieceBeyondTheEnd) {
  make_file(1000);
  const RowFile file = open_rows(path_);
  area_ = memory::Buffer<std::byte>(ledger_, "rows", 4096);
  const Piece beyond = {8192, 512, area_.data()};
  expect_error(ErrorKind::internal, {path_.string(), "512 bytes at 8192", "1000"}, [&] {
    queue_->read(file, {&beyond, 1});
  });
}

TEST_P(ReadQueueTest, GoesOnAfterSignals) {
  make_file(8 * kMiB);
  struct sigaction action = {};
  action.sa_handler = [](int) {};  // without SA_RESTART: system calls return early
  struct sigaction before = {};
  ::sigaction(SIGUSR1, &action, &before);
  std::atomic<bool> done = false;
  const pthread_t reader = ::pthread_self();
  std::thread disturber([&] {
    while (!done) {
      ::pthread_kill(reader, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  expect_reads(20'000, 2);
  done = true;
  disturber.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_P(ReadQueueTest, LeasesItsMemory) {
  EXPECT_GT(ledger_.used_bytes(), 0U);
  queue_.reset();
  EXPECT_EQ(ledger_.used_bytes(), 0U);
  memory::Ledger small(1000);
  expect_error(ErrorKind::memory, {"read queues"}, [&] { ReadQueue::open(small, GetParam(), 64); });
}

INSTANTIATE_TEST_SUITE_P(Methods, ReadQueueTest,
                         testing::Values(ReadMethod::uring, ReadMethod::threads),
                         [](const auto& param) {
                           return param.param == ReadMethod::uring ? "Uring" : "Threads";
                         });

TEST(ReadQueue, SaysHowItReads) {
  memory::Ledger ledger(16 * kMiB);
  EXPECT_EQ(ReadQueue::open(ledger, ReadMethod::threads, 4)->method(), "pread on 4 threads");
  EXPECT_EQ(ReadQueue::open(ledger, ReadMethod::threads)->method(), "pread on 32 threads");
}

// Makes io_uring_setup fail for this process from now on, as containers do.
bool forbid_uring() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {static_cast<unsigned short>(std::size(filter)), filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(ReadQueue, ReadsByThreadsWhereIoUringIsForbidden) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!forbid_uring()) ::_exit(77);
    memory::Ledger ledger(16 * kMiB);
    bool refused = false;
    try {
      ReadQueue::open(ledger, ReadMethod::uring);
    } catch (const Error& error) {
      refused = error.kind() == ErrorKind::io &&
                std::string_view(error.what()).find("io_uring") != std::string_view::npos;
    }
    ::_exit(refused && ReadQueue::open(ledger)->method() == "pread on 32 threads" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(OpenRows, FindsThePlacesThatCanBeRead) {
  const TempFolder folder;
  write_file(folder / "rows", random_text(10'000));
  const RowFile file = open_rows(folder / "rows");
  EXPECT_EQ(file.size_bytes, 10'000U);
  EXPECT_TRUE(file.alignment == 1 || file.alignment == 512 || file.alignment == 4096);
  EXPECT_EQ(file.file.direct, file.alignment > 1);
}

TEST(OpenRows, TakesAnEmptyFile) {
  const TempFolder folder;
  write_file(folder / "rows", "");
  EXPECT_EQ(open_rows(folder / "rows").size_bytes, 0U);
}

TEST(OpenRows, RefusesAFolder) {
  const TempFolder folder;
  expect_error(ErrorKind::io, {folder.path().string(), "Is a directory"},
               [&] { open_rows(folder.path()); });
}

TEST(OpenRows, RefusesAMissingFile) {
  const TempFolder folder;
  expect_error(ErrorKind::io, {"cannot open", "No such file"},
               [&] { open_rows(folder / "missing"); });
}

}  // namespace
}  // namespace plimsoll::io
