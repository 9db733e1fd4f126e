#include <gtest/gtest.h>

#include "plan/measuring.h"
#include "temp_folder.h"

namespace plimsoll::plan {
namespace {

TEST(WorkedSeconds, CountsEverythingButIdlingAndWaiting) {
  EXPECT_EQ(worked_seconds("cpu  100 20 30 9000 800 4 6 40 7 8\ncpu0 1 2 3\n", 100), 2.0);
  EXPECT_EQ(worked_seconds("cpu 100 20 30 9000 800 4 6", 100), 1.6);  // of old, without steal
}

TEST(WorkedSeconds, KnowsNothingOfAnotherText) {
  for (const char* text : {"", "cpu", "cpu 1 2 3", "cpu one two", "intr 1 2 3 4 5 6 7 8"}) {
    EXPECT_FALSE(worked_seconds(text, 100)) << text;
  }
  EXPECT_FALSE(worked_seconds("cpu 1 2 3 4 5 6 7 8", 0));
}

TEST(OtherLoad, IsWhatOthersDidSinceTheStart) {
  const TempFolder folder;
  write_file(folder / "proc/stat", "cpu  100 0 0 0 0 0 0 0\n");
  const OtherLoad load(memory::Host{.root = folder.path()});
  write_file(folder / "proc/stat", "cpu  100 0 0 99999999 0 0 0 0\n");
  EXPECT_EQ(load.cores(), 0);
  write_file(folder / "proc/stat", "cpu  100 0 0 0 0 0 0 99999999\n");
  EXPECT_GT(load.cores(), 100);
}

TEST(OtherLoad, IsNoneWhereTheKernelDoesNotSay) {
  const TempFolder folder;
  EXPECT_EQ(OtherLoad(memory::Host{.root = folder.path()}).cores(), 0);
}

TEST(OtherLoad, SpoilsAMeasurementFromAShareOfTheMachineOn) {
  EXPECT_FALSE(spoils(0.1, 2));
  EXPECT_TRUE(spoils(0.3, 2));
  EXPECT_FALSE(spoils(1, 64));
  EXPECT_TRUE(spoils(5, 64));
}

}  // namespace
}  // namespace plimsoll::plan
