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
  for (const Beat& beat : {Beat{}, Beat{17, 4, 2, Doing::waiting},
                           Beat{UINT64_MAX, UINT64_MAX, UINT64_MAX, Doing::working}}) {
    EXPECT_EQ(parse_beat(to_text(beat)), beat);
  }
  for (const char* text :
       {"", "1", "1 2", "1 2 3", "1 2 3 x", "1 2 3 3", "1 2 3 0 4", "a 2 3 0", "1  2 3 0"}) {
    EXPECT_EQ(parse_beat(text), std::nullopt) << text;
  }
}

// A beat of a rank that works.
Beat working(uint64_t count, uint64_t progress, uint64_t activity) {
  return {count, progress, activity, Doing::working};
}

TEST_F(BeatJudgeTest, IsContentWithARankThatBeatsAndWorks) {
  for (uint64_t i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(judge(working(i, i / 1000, i / 10), milliseconds(500 * i)));
  }
}

// Judges the same beat twice a second, from `from` on. Returns when the rank is lost.
constexpr milliseconds kStep{500};
std::optional<milliseconds> lost_at(BeatJudge& judge, const std::optional<Beat>& beat,
                                    milliseconds from, bool suspicious = false) {
  for (milliseconds at = from; at < from + minutes(1); at += kStep) {
    if (judge.judge(beat, BeatJudge::Time() + at, suspicious)) return at - from;
  }
  return std::nullopt;
}

TEST_F(BeatJudgeTest, LosesARankThatFallsSilent) {
  EXPECT_EQ(lost_at(judge_, working(1, 1, 1), seconds(1)), seconds(6));
}

TEST_F(BeatJudgeTest, LosesASilentRankSoonerIfAConnectionFailed) {
  EXPECT_EQ(lost_at(judge_, working(1, 1, 1), seconds(1), true), milliseconds(2500));
}

TEST_F(BeatJudgeTest, LosesARankThatNeverBeats) {
  EXPECT_EQ(lost_at(judge_, std::nullopt, seconds(0)), seconds(6));
}

TEST_F(BeatJudgeTest, LosesARankThatBeatsAndShouldWorkButDoesNothing) {
  std::optional<std::string> why;
  milliseconds at{0};
  for (uint64_t beats = 0; !why && at < minutes(1); at += kStep) {
    why = judge(working(++beats, 1, 1), at);
  }
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("for 6 seconds it has neither computed nor read"), std::string::npos) << *why;
  EXPECT_EQ(at - kStep, seconds(6));
}

TEST_F(BeatJudgeTest, LosesARankThatDoesSomethingButMakesNoProgress) {
  std::optional<std::string> why;
  uint64_t beats = 0;
  for (milliseconds at{0}; at < minutes(40) && !why; at += kStep) {
    ++beats;
    why = judge(working(beats, 1, beats), at);
  }
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("no progress for 30 minutes"), std::string::npos) << *why;
  EXPECT_EQ(beats, 3601U);
}

TEST_F(BeatJudgeTest, NeverLosesARankThatWaitsForOthers) {
  for (uint64_t i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(judge(Beat{i, 1, 1, Doing::waiting}, milliseconds(500 * i)));
  }
}

TEST_F(BeatJudgeTest, LetsARankPrepareForAsLongAsItDoesSomething) {
  uint64_t i = 0;
  for (; i < 10'000; ++i) {
    EXPECT_FALSE(judge(Beat{i, 0, i / 100, Doing::preparing}, milliseconds(500 * i)));
  }
  std::optional<std::string> why;
  for (; !why && i < 20'000; ++i)
    why = judge(Beat{i, 0, 100, Doing::preparing}, milliseconds(500 * i));
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("no progress for 30 minutes"), std::string::npos) << *why;
}

TEST_F(BeatJudgeTest, DoesNotCountTheTimeInWhichItWasAsleepItself) {
  EXPECT_FALSE(judge(working(1, 1, 1), seconds(1)));
  EXPECT_FALSE(judge(working(1, 1, 1), std::chrono::hours(5)));
  EXPECT_FALSE(judge(working(2, 2, 2), std::chrono::hours(5) + kStep));
}

}  // namespace
}  // namespace plimsoll::ranks
