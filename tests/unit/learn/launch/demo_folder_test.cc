#include "launch/demo_folder.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace plimsoll::launch {
namespace {

TEST(DemoFolder, IsReplacedOnlyIfADemoMadeIt) {
  const TempFolder place;
  const auto folder = place / "demo";
  make_demo_folder(folder, false);
  write_file(folder / "old", "");
  expect_error(ErrorKind::exists, {"exists already; --force replaces it"},
               [&] { make_demo_folder(folder, false); });
  make_demo_folder(folder, true);
  EXPECT_EQ(names_in(folder), std::vector<std::string>({"made-by-plimsoll-demo"}));
}

TEST(DemoFolder, LeavesFoldersOfOthersAlone) {
  const TempFolder place;
  const auto folder = place / "thesis";
  write_file(folder / "chapter1", "");
  expect_error(ErrorKind::exists, {"was not made by plimsoll demo"},
               [&] { make_demo_folder(folder, true); });
  EXPECT_EQ(names_in(folder), std::vector<std::string>({"chapter1"}));
  std::filesystem::create_directory(place / "empty");
  make_demo_folder(place / "empty", true);
  // Not what a link points to, either.
  std::filesystem::create_directory_symlink(folder, place / "link");
  expect_error(ErrorKind::exists, {"was not made by plimsoll demo"},
               [&] { make_demo_folder(place / "link", true); });
}

}  // namespace
}  // namespace plimsoll::launch
