#include "ranks/beat.h"

#include <gtest/gtest.h>

namespace plimsoll::ranks {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class BeatJudgeTest : public testing::Test {
 protected:
  std::optional<std::string> judge(const std::optional<Beat>& beat, milliseconds at,
                                   bool suspicious = false) {
    return judge_.judge(beat, start_ + at, suspicious);
  }
  const BeatJudge::Time start_;
  BeatJudge judge_{{}, start_};
};

TEST(Beat, SurvivesBeingSentAsText) {
  for (const Beat& beat : {Beat{}, Beat{17, 4, true}, Beat{UINT64_MAX, UINT64_MAX, false}}) {
    EXPECT_EQ(parse_beat(to_text(beat)), beat);
  }
  for (const char* text : {"", "1", "1 2", "1 2 x", "1 2 0 4", "a 2 0"}) {
    EXPECT_EQ(parse_beat(text), std::nullopt) << text;
  }
}

TEST_F(BeatJudgeTest, IsContentWithARankThatBeatsAndWorks) {
  for (uint64_t i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(judge(Beat{i, i / 1000, false}, milliseconds(500 * i)));
  }
}

TEST_F(BeatJudgeTest, LosesARankThatFallsSilent) {
  EXPECT_FALSE(judge(Beat{1, 1, false}, seconds(1)));
  EXPECT_FALSE(judge(Beat{1, 1, false}, milliseconds(7900)));
  EXPECT_TRUE(judge(Beat{1, 1, false}, seconds(8)));
}

TEST_F(BeatJudgeTest, LosesASilentRankSoonerIfAConnectionFailed) {
  EXPECT_FALSE(judge(Beat{1, 1, false}, seconds(1)));
  EXPECT_FALSE(judge(Beat{1, 1, false}, seconds(3), true));
  EXPECT_TRUE(judge(Beat{1, 1, false}, milliseconds(3500), true));
}

TEST_F(BeatJudgeTest, LosesARankThatNeverBeats) {
  EXPECT_FALSE(judge(std::nullopt, seconds(6)));
  EXPECT_TRUE(judge(std::nullopt, seconds(7)));
}

TEST_F(BeatJudgeTest, LosesARankThatBeatsButNeitherWorksNorWaits) {
  std::optional<std::string> why;
  uint64_t beats = 0;
  for (milliseconds at{0}; at < minutes(40) && !why; at += milliseconds(500)) {
    why = judge(Beat{++beats, 1, false}, at);
  }
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("no progress for 30 minutes"), std::string::npos) << *why;
  EXPECT_EQ(beats, 3601U);
}

TEST_F(BeatJudgeTest, NeverLosesARankThatWaitsForOthers) {
  for (uint64_t i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(judge(Beat{i, 1, true}, milliseconds(500 * i)));
  }
}

}  // namespace
}  // namespace plimsoll::ranks
