#include "launch/save_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "launch/train_module.h"
#include "temp_folder.h"

namespace plimsoll::launch {
namespace {

using Names = std::vector<std::string>;

TEST(CheckNewRun, TakesAFolderWithoutARun) {
  const TempFolder folder;
  check_new_run(folder / "missing", /*force=*/false);
  check_new_run(folder.path(), /*force=*/false);
  write_file(folder / "notes.txt", "");
  check_new_run(folder.path(), /*force=*/false);
}

TEST(CheckNewRun, NamesBothWaysOutOfAFolderWithARun) {
  const TempFolder folder;
  write_file(folder / "last.pth", "");
  expect_error(ErrorKind::exists, {"--resume " + folder.path().string(), "--force"},
               [&] { check_new_run(folder.path(), /*force=*/false); });
  check_new_run(folder.path(), /*force=*/true);
}

TEST(CheckNewRun, ProtectsABestModelWithoutARun) {
  const TempFolder folder;
  write_file(folder / "best.pth", "");
  expect_error(ErrorKind::exists, {"best.pth", "--force"},
               [&] { check_new_run(folder.path(), /*force=*/false); });
}

TEST(CheckNewRun, WantsAFolder) {
  const TempFolder folder;
  write_file(folder / "file", "");
  expect_error(ErrorKind::usage, {"is a file"},
               [&] { check_new_run(folder / "file", /*force=*/true); });
}

TEST(CheckResumable, WantsTheLastCheckpoint) {
  const TempFolder folder;
  expect_error(ErrorKind::io, {"no last.pth"}, [&] { check_resumable(folder.path()); });
  expect_error(ErrorKind::io, {"no last.pth"}, [&] { check_resumable(folder / "missing"); });
  write_file(folder / "last.pth", "");
  check_resumable(folder.path());
  expect_error(ErrorKind::usage, {"give the folder"},
               [&] { check_resumable(folder / "last.pth"); });
}

TEST(SaveFolder, IsMadeAndIsForOneRun) {
  const TempFolder folder;
  {
    const SaveFolder first(folder / "a/b");
    EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b"));
    expect_error(ErrorKind::exists, {"another run"}, [&] { SaveFolder(folder / "a/b"); });
  }
  const SaveFolder next(folder / "a/b");
}

TEST(SaveFolder, ClearsWhatARunWroteAndNothingElse) {
  const TempFolder folder;
  for (const char* name :
       {"last.pth", "best.pth", "epoch_010.pth", "results.json", "notes.txt", "mine.pth"}) {
    write_file(folder / name, "");
  }
  SaveFolder(folder.path()).clear();
  EXPECT_EQ(names_in(folder.path()), Names({"mine.pth", "notes.txt"}));
}

TEST(TrainLibrary, LiesBesideTheProgramOrInLib) {
  EXPECT_EQ(train_library_places("/usr/bin/plimsoll"),
            std::vector<std::filesystem::path>(
                {"/usr/bin/libplimsoll_train.so", "/usr/lib/plimsoll/libplimsoll_train.so"}));
}

TEST(TrainLibrary, IsNamedWithItsPlacesWhereTheFileIsMissing) {
  const std::string text = without_train_library("/opt/bin/plimsoll", true);
  EXPECT_NE(text.find("/opt/bin/libplimsoll_train.so"), std::string::npos) << text;
  EXPECT_NE(text.find("/opt/lib/plimsoll/libplimsoll_train.so"), std::string::npos) << text;
  EXPECT_EQ(text.find("built without"), std::string::npos) << text;
}

TEST(TrainLibrary, IsNotLookedForInAProgramThatWasBuiltWithoutLibtorch) {
  const std::string text = without_train_library("/opt/bin/plimsoll", false);
  EXPECT_NE(text.find("/opt/bin/plimsoll was built without libtorch"), std::string::npos) << text;
  EXPECT_NE(text.find("libtorch-dev"), std::string::npos) << text;
  EXPECT_EQ(text.find("libplimsoll_train.so"), std::string::npos) << text;
}

}  // namespace
}  // namespace plimsoll::launch
