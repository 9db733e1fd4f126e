#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "io/partial_file.h"
#include "temp_folder.h"

namespace plimsoll::io {
namespace {

namespace fs = std::filesystem;

TEST(WriteWhole, ReplacesAFileAndLeavesNoOther) {
  const TempFolder folder;
  for (const Sync sync : {Sync::yes, Sync::no}) {
    write_file(folder / "table.csv", "what was there before");
    write_whole(folder / "table.csv", "new", sync);
    EXPECT_EQ(read_file(folder / "table.csv"), "new");
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"table.csv"});
  }
}

TEST(WriteWhole, WritesThroughALink) {
  const TempFolder folder;
  write_file(folder / "real", "older and longer");
  fs::create_symlink("real", folder / "link");
  write_whole(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "real"), "new");
}

TEST(WriteWhole, WritesIntoAPipeAndADevice) {
  const TempFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string seen;
  std::thread reader([&] { seen = read_file(pipe); });
  write_whole(pipe, "through a pipe");
  reader.join();
  EXPECT_EQ(seen, "through a pipe");
  EXPECT_TRUE(fs::is_fifo(pipe));
  write_whole("/dev/null", "nothing");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(WriteWhole, LeavesTheOldFileWhereThereIsNoRoom) {
  const TempFolder folder;
  write_file(folder / "table.csv", "old");
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = 1000, .rlim_max = 1000};
    setrlimit(RLIMIT_FSIZE, &small);
    try {
      write_whole(folder / "table.csv", std::string(5000, 'x'));
    } catch (const Error&) {
      _exit(0);
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "nothing was thrown";
  EXPECT_EQ(read_file(folder / "table.csv"), "old");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"table.csv"});
}

TEST(WriteWhole, SaysWhichFileCannotBeWritten) {
  const TempFolder folder;
  expect_error(ErrorKind::io, {"missing/table.csv"},
               [&] { write_whole(folder / "missing/table.csv", "x"); });
  expect_error(ErrorKind::io, {folder.path().string()}, [&] { write_whole(folder.path(), "x"); });
}

}  // namespace
}  // namespace plimsoll::io
