#include "io/transfers.h"

#include <gtest/gtest.h>

#include <string>

#include "io/partial_file.h"
#include "temp_folder.h"

namespace plimsoll::io {
namespace {

TEST(Transfers, CountWhatIsWrittenButNotLogs) {
  const TempFolder folder;
  const uint64_t before = transfers_so_far().ended;
  write_whole(folder / "log", "text", Sync::no);
  EXPECT_EQ(transfers_so_far().ended, before);
  write_whole(folder / "checkpoint", "text", Sync::yes);
  EXPECT_EQ(transfers_so_far().ended, before + 1);
}

TEST(Transfers, KnowWhoWaitsForADisk) {
  {
    const Syncing waiting;
    EXPECT_EQ(transfers_so_far().syncing, 1U);
    const Uncounted log;
    const Syncing other;
    EXPECT_EQ(transfers_so_far().syncing, 1U);
  }
  EXPECT_EQ(transfers_so_far().syncing, 0U);
}

}  // namespace
}  // namespace plimsoll::io
