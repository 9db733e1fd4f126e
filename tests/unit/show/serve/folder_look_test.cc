#include "serve/folder_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temp_folder.h"

namespace plimsoll::serve {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

std::vector<std::string> names_of(const FolderMarks& marks) {
  std::vector<std::string> names;
  for (const auto& [name, mark] : marks) names.push_back(name);
  return names;
}

TEST(FolderLook, SeesWhichFolderChanged) {
  const TempFolder folder;
  write_file(folder / "a/results.json", "1");
  write_file(folder / "b/results.json", "1");
  const FolderMarks before = look_into(folder.path());
  EXPECT_EQ(look_into(folder.path()), before);
  write_file(folder / "b/results.json", "12");
  const FolderMarks after = look_into(folder.path());
  EXPECT_EQ(after.at("a"), before.at("a"));
  EXPECT_NE(after.at("b"), before.at("b"));
  EXPECT_EQ(after.at("."), before.at("."));
}

TEST(FolderLook, GoesAsDeepAsItMayAndNotIntoBatches) {
  const TempFolder folder;
  write_file(folder / "a/b/c/file", "");
  write_file(folder / "batch/journal.sqlite", "1");
  write_file(folder / "batch/experiment/file", "");
  write_file(folder / ".hidden/file", "");
  EXPECT_THAT(names_of(look_into(folder.path(), {.depth = 2})),
              ElementsAre(".", "a", "a/b", "batch"));
  EXPECT_EQ(look_into(folder.path(), {.most_folders = 3}).size(), 3U);
}

TEST(FolderLook, FollowsNoLinks) {
  const TempFolder folder;
  const TempFolder elsewhere;
  write_file(elsewhere / "sub/file", "");
  fs::create_symlink(elsewhere.path(), folder / "link");
  EXPECT_THAT(names_of(look_into(folder.path())), ElementsAre("."));
}

TEST(FolderLook, OfAMissingFolderIsEmpty) { EXPECT_TRUE(look_into("/nonexistent/folder").empty()); }

TEST(FolderLook, KnowsWhatLeadsOutside) {
  const TempFolder folder;
  const TempFolder elsewhere;
  const fs::path inside = fs::canonical(folder.path());
  write_file(folder / "a/file", "");
  write_file(elsewhere / "secret", "");
  fs::create_symlink(elsewhere / "secret", folder / "out");
  fs::create_symlink(folder / "a/file", folder / "in");
  EXPECT_TRUE(stays_inside(inside, folder / "a/file"));
  EXPECT_TRUE(stays_inside(inside, folder / "in"));
  EXPECT_FALSE(stays_inside(inside, folder / "out"));
  EXPECT_FALSE(stays_inside(inside, folder / "missing"));
  EXPECT_FALSE(stays_inside(inside, inside.string() + "x"));
}

}  // namespace
}  // namespace plimsoll::serve
