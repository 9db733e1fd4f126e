#include <gtest/gtest.h>

#include "plan/measuring.h"
#include "temp_folder.h"

namespace plimsoll::plan {
namespace {

TEST(OtherLoad, IsWhatOthersDidSinceTheStart) {
  const TempFolder folder;
  write_file(folder / "proc/stat", "cpu  100 0 0 0 0 0 0 0\n");
  const OtherLoad load(Host{.root = folder.path()});
  write_file(folder / "proc/stat", "cpu  100 0 0 99999999 0 0 0 0\n");
  EXPECT_EQ(load.cores(), 0);
  write_file(folder / "proc/stat", "cpu  100 0 0 0 0 0 0 99999999\n");
  EXPECT_GT(load.cores(), 100);
}

TEST(OtherLoad, IsNoneWhereTheKernelDoesNotSay) {
  const TempFolder folder;
  EXPECT_EQ(OtherLoad(Host{.root = folder.path()}).cores(), 0);
}

TEST(OtherLoad, SpoilsAMeasurementFromAShareOfTheMachineOn) {
  EXPECT_FALSE(spoils(0.1, 2));
  EXPECT_TRUE(spoils(0.3, 2));
  EXPECT_FALSE(spoils(1, 64));
  EXPECT_TRUE(spoils(5, 64));
}

}  // namespace
}  // namespace plimsoll::plan
