#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.h"
#include "io/partial_file.h"
#include "temp_folder.h"

namespace {

bool syncs_no_folders = false;
int whole_disks_synced = 0;

template <typename Function>
Function* of_libc(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// Some network file systems answer EINVAL here. The test program's functions come before libc's.
extern "C" int fsync(int fd) {
  struct stat about = {};
  if (syncs_no_folders && ::fstat(fd, &about) == 0 && S_ISDIR(about.st_mode)) {
    errno = EINVAL;
    return -1;
  }
  return of_libc<int(int)>("fsync")(fd);
}

extern "C" int syncfs(int fd) noexcept {
  ++whole_disks_synced;
  return of_libc<int(int)>("syncfs")(fd);
}

namespace plimsoll::io {
namespace {

class SyncTest : public testing::Test {
 protected:
  SyncTest() { whole_disks_synced = 0; }
  ~SyncTest() override { syncs_no_folders = false; }
  TempFolder folder_;
};

TEST_F(SyncTest, OfAFolderNeedsNoOtherFile) {
  sync_folder(folder_.path());
  EXPECT_EQ(whole_disks_synced, 0);
}

TEST_F(SyncTest, WhereFoldersCannotBeSyncedTheDiskIs) {
  syncs_no_folders = true;
  sync_folder(folder_.path());
  EXPECT_EQ(whole_disks_synced, 1);
}

TEST_F(SyncTest, OfAFolderThatCannotBeOpenedSyncsTheDiskOfTheOtherFile) {
  const Fd file(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY));
  sync_folder(folder_ / "none", file);
  EXPECT_EQ(whole_disks_synced, 1);
  expect_error(ErrorKind::io, {"none"}, [&] { sync_folder(folder_ / "none"); });
  expect_error(ErrorKind::io, {"none"}, [&] { sync_file(folder_ / "none"); });
}

TEST_F(SyncTest, AFileAndAFolderAppearWhereFoldersCannotBeSynced) {
  syncs_no_folders = true;
  write_whole(folder_ / "file", "text");
  EXPECT_EQ(whole_disks_synced, 1);
  for (const bool replace : {false, true}) {
    StagedFolder staged(folder_ / "store", replace);
    write_file(staged.path() / "edges", "new");
    staged.commit();
  }
  EXPECT_EQ(whole_disks_synced, 5);
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"file", "store"}));
}

}  // namespace
}  // namespace plimsoll::io
