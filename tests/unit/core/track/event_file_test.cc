#include "track/event_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "temp_folder.h"
#include "track/event_message.h"

namespace plimsoll::track {
namespace {

namespace fs = std::filesystem;

TEST(Crc32c, GivesTheValuesOfItsStandard) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(EventMessage, IsTheKnownBytes) {
  // Field 1 is the time as a double, field 2 the step, field 3 the version.
  EXPECT_EQ(version_event({.time = 1}), std::string("\x09\0\0\0\0\0\0\xf0\x3f\x10\0\x1a\x0d"
                                                    "brain.Event:2",
                                                    26));
}

TEST(EventMessage, IsReadBack) {
  EventFacts facts;
  ASSERT_TRUE(
      read_event(scalars_event({.time = 5, .step = 300}, std::vector<Scalar>{{"loss", 1}}), facts));
  EXPECT_EQ(facts.step, 300U);
  EXPECT_TRUE(facts.has_summary);
  EXPECT_FALSE(facts.ends_session);
  ASSERT_TRUE(read_event(session_event({.time = 5, .step = 4}, SessionMark::stop), facts));
  EXPECT_TRUE(facts.ends_session);
  ASSERT_TRUE(read_event(session_event({.time = 5, .step = 4}, SessionMark::start), facts));
  EXPECT_FALSE(facts.ends_session);
  EXPECT_TRUE(facts.has_session);
}

TEST(EventMessage, RefusesBytesThatAreNone) {
  EventFacts facts;
  const std::string whole = scalars_event({.time = 5, .step = 3}, std::vector<Scalar>{{"a", 1}});
  EXPECT_FALSE(read_event(whole.substr(0, whole.size() - 1), facts));
  EXPECT_FALSE(read_event("\x0b", facts));                   // a wire type that is not used
  EXPECT_FALSE(read_event(std::string(11, '\xff'), facts));  // a number that never ends
}

class Events : public testing::Test {
 protected:
  void write(std::vector<uint64_t> steps, double time) {
    EventFile file(folder_.path(), time);
    for (const uint64_t step : steps) {
      file.add(scalars_event({.time = time, .step = step}, std::vector<Scalar>{{"loss", 1}}));
    }
    file.flush();
  }
  std::vector<fs::path> files() {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_.path())) found.push_back(entry.path());
    return found;
  }
  TempFolder folder_;
};

TEST_F(Events, KeepsTheStepsUpToTheLastOne) {
  write({1, 2, 3, 4}, 1000);
  const auto before = fs::file_size(files().front());
  EXPECT_EQ(keep_events(folder_.path(), 9), 4U);
  EXPECT_EQ(fs::file_size(files().front()), before);
  EXPECT_EQ(keep_events(folder_.path(), 2), 2U);
  EXPECT_LT(fs::file_size(files().front()), before);
  EXPECT_EQ(keep_events(folder_.path(), 2), 2U);
}

TEST_F(Events, RemovesAFileThatHasNothingLeft) {
  write({1, 2}, 1000);
  write({3, 4}, 2000);
  EXPECT_EQ(keep_events(folder_.path(), 2), 2U);
  EXPECT_EQ(files().size(), 1U);
  EXPECT_EQ(keep_events(folder_.path(), 0), 0U);
  EXPECT_TRUE(files().empty());
}

TEST_F(Events, CutsOffARecordThatIsNotWhole) {
  write({1, 2, 3}, 1000);
  fs::resize_file(files().front(), fs::file_size(files().front()) - 3);
  EXPECT_EQ(keep_events(folder_.path(), 9), 2U);
  EXPECT_EQ(keep_events(folder_.path(), 9), 2U);
}

TEST_F(Events, CutsOffHowARunEnded) {
  {
    EventFile file(folder_.path(), 1000);
    const std::vector<Scalar> scalars = {{"loss", 1}};
    file.add(scalars_event({.time = 1000, .step = 1}, scalars));
    file.flush();
    const auto before = fs::file_size(files().front());
    file.add(session_event({.time = 1000, .step = 1}, SessionMark::stop));
    file.add(scalars_event({.time = 1000, .step = 1}, scalars));
    file.flush();
    EXPECT_EQ(keep_events(folder_.path(), 5), 1U);
    EXPECT_EQ(fs::file_size(files().front()), before);
  }
}

TEST_F(Events, LeavesFilesOfOthersAlone) {
  write_file(folder_ / "events.out.tfevents.1.host.1.0", "theirs");
  EXPECT_EQ(keep_events(folder_.path(), 0), 0U);
  EXPECT_TRUE(fs::exists(folder_ / "events.out.tfevents.1.host.1.0"));
}

}  // namespace
}  // namespace plimsoll::track
