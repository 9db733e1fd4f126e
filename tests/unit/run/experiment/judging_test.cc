#include "experiment/judging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "experiment/csv_table.h"
#include "temp_folder.h"

namespace plimsoll::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

double metric_in(const std::string& pattern, const std::string& text) {
  LogReader reader({{.name = "m", .pattern = pattern}}, {});
  read_lines(text, reader);
  return reader.metrics().contains("m") ? reader.metrics().at("m").number : -12345;
}

TEST(Metrics, TheLastMatchCountsInAnyNotation) {
  const std::string pattern = R"((?:'loss':|loss:)\s*([0-9.]+))";
  EXPECT_EQ(metric_in(pattern, "loss: 0.5\nloss: 5e-05\n"), 5e-05);
  EXPECT_EQ(metric_in(pattern, "'loss': 0.5, 'loss': 1.5E+3}"), 1500);
  EXPECT_EQ(metric_in(pattern, "loss: -0.25"), -0.25);
  EXPECT_TRUE(std::isinf(metric_in(pattern, "loss: 0.5\nloss: inf")));
  EXPECT_TRUE(std::isnan(metric_in(pattern, "loss: 0.5\nloss: nan")));
  EXPECT_EQ(metric_in(R"(acc=(\d+\.\d+)%)", "epoch 1 acc=91.5%\repoch 2 acc=92.5%\r"), 92.5);
  EXPECT_EQ(metric_in(R"((?i)(?P<a>Rank@1):\s*(\d+))", "nothing"), -12345);
}

TEST(Metrics, PythonsNamedGroupsAndIgnoredCaseAreUnderstood) {
  EXPECT_EQ(metric_in(R"((?i)accuracy:\s*(?P<value>[0-9.]+))", "ACCURACY: 0.75"), 0.75);
  EXPECT_EQ(metric_in(R"(loss: (?P<value>[0-9.]+))", "loss: 5e-05"), 5e-05);
  EXPECT_TRUE(obstacle_of_pattern("([0-9"));
}

TEST(Metrics, TakeTimeInProportionToTheLineWhateverThePattern) {
  // What backtracks tries every pair of places, for every place: minutes at 4096 characters.
  EXPECT_EQ(metric_in(R"(.*.*acc.*: ([0-9.]+))", std::string(60'000, 'a') + "acc: 0.5"), 0.5);
  EXPECT_EQ(metric_in(R"(.*.*acc.*: ([0-9.]+))", std::string(60'000, 'a')), -12345);
  EXPECT_EQ(metric_in(R"((a*)*b([0-9]))", std::string(60'000, 'a')), -12345);
}

TEST(Metrics, AreFoundAnywhereInALineWithoutAnEnd) {
  std::string line(1'000'000, '.');
  for (const size_t at : {size_t{5000}, size_t{65530}, size_t{700'000}}) {
    line.replace(at, 10, " acc: 0.25");
    line.replace(at + 200, 10, " acc: 0.75");
    EXPECT_EQ(metric_in(R"(acc: ([0-9.]+))", line), 0.75) << at;
    line.replace(at, 300, 300, '.');
  }
}

TEST(Metrics, TheLastOfManyMatchesInALineCounts) {
  std::string line;
  for (int i = 0; i <= 7000; ++i) line += "loss " + std::to_string(i) + " ";
  EXPECT_EQ(metric_in(R"(loss ([0-9.]+) .*final|loss ([0-9.]+))", line), 7000);
  EXPECT_EQ(metric_in(R"(loss ([0-9.]+))", line), 7000);
  EXPECT_EQ(metric_in(R"(\bloss ([0-9.]+)\b)", line), 7000);
  // Far behind the others, and where a window ends.
  for (const size_t blanks : {900, 1000, 1010, 1015, 1020, 1024, 2000, 30'000}) {
    EXPECT_EQ(metric_in(R"(loss ([0-9.]+))",
                        line.substr(0, 2000) + std::string(blanks, '.') + "loss 123456789"),
              123456789)
        << blanks;
  }
  // Anchors mean the line, not a window.
  EXPECT_EQ(metric_in(R"(^loss ([0-9]+))", line), 0);
  EXPECT_EQ(metric_in(R"(loss ([0-9]+) $)", line), 7000);
}

TEST(Metrics, AProgressBarIsManyLines) {
  std::string bar;
  for (int i = 0; i < 100'000; ++i) bar += "\r " + std::to_string(i) + "/100000 loss: 0.5";
  EXPECT_EQ(metric_in(R"(^ ([0-9]+)/)", bar), 99'999);
}

TEST(Metrics, KeepAllDigitsOfAWholeNumber) {
  LogReader reader({{.name = "tokens", .pattern = R"(tokens: ([0-9]+))"}}, {});
  read_lines("tokens: 9007199254740993", reader);
  EXPECT_EQ(text_of(reader.metrics().at("tokens")), "9007199254740993");
}

TEST(Metrics, ALineNeedNotBeUtf8) {
  EXPECT_EQ(metric_in(R"(naïve .* loss: ([0-9.]+))", "naïve \xff\xfe\xe9 loss: 0.5"), 0.5);
  EXPECT_EQ(metric_in(R"(acc [–—] ([0-9.]+))", "acc — 0.5"), 0.5);
}

TEST(Metrics, LookaroundAndBackreferencesAreRefusedWithWhatToWriteInstead) {
  const auto refused = [](const std::string& pattern, const std::string& what) {
    const auto obstacle = obstacle_of_pattern(pattern);
    ASSERT_TRUE(obstacle) << pattern;
    EXPECT_THAT(*obstacle, HasSubstr(what));
    EXPECT_THAT(*obstacle, HasSubstr("not supported; "));
  };
  refused(R"((?<=loss: )([0-9.]+))", "a lookbehind, (?<=");
  refused(R"((?<!val_)loss: ([0-9.]+))", "a negative lookbehind, (?<!");
  refused(R"(([0-9.]+)(?= %))", "a lookahead, (?=");
  refused(R"(([0-9.]+)(?!%))", "a negative lookahead, (?!");
  refused(R"((a|b): \1 ([0-9.]+))", R"(a backreference, \1)");
  refused(R"((?P<q>['"])loss(?P=q): ([0-9.]+))", "a backreference, (?P=");
  EXPECT_THAT(*obstacle_of_pattern("([0-9"), HasSubstr("is not a valid regular expression"));
  // Not what they look like.
  EXPECT_FALSE(obstacle_of_pattern(R"([(?=]\\1 \(\?= ([0-9.]+))"));
}

TEST(Metrics, PatternsInUseAreUnderstood) {
  for (const char* pattern :
       {R"((?:'eval_loss':|eval_loss:)\s*([0-9.]+))", R"(Rank@1:\s*([0-9.]+)%)",
        R"(mAP:\s*([0-9.]+)%?)", R"(Test accuracy:\s+(\d+\.\d+))", R"(\[test\] acc=([0-9.]+)\s)",
        R"((?i)(?P<name>acc|accuracy)\s*[:=]\s*([0-9.]+))"}) {
    EXPECT_FALSE(obstacle_of_pattern(pattern)) << pattern;
  }
}

TEST(Metrics, TheGroupOfEitherAlternativeCounts) {
  const std::string pattern = R"(acc: ([0-9.]+)|accuracy = ([0-9.]+))";
  EXPECT_EQ(metric_in(pattern, "acc: 0.5"), 0.5);
  EXPECT_EQ(metric_in(pattern, "accuracy = 0.75"), 0.75);
}

TEST(Metrics, APatternMustSayWhereTheNumberIs) {
  EXPECT_TRUE(has_group("loss: ([0-9.]+)"));
  EXPECT_TRUE(has_group("loss: (?P<value>[0-9.]+)"));
  EXPECT_FALSE(has_group("loss: [0-9.]+"));
  EXPECT_FALSE(has_group(R"(loss\(x\): (?:[0-9.]+))"));
}

Success judged(const std::string& log, const Terms& terms, const AttemptFacts& attempt,
               const std::vector<MetricPattern>& metrics) {
  LogReader reader(metrics, patterns_of(terms));
  read_lines(log, reader);
  return judge_success(attempt, metrics, terms, reader);
}

const std::vector<MetricPattern> kMap = {{.name = "mAP", .pattern = R"(mAP:\s*([0-9.]+))"}};

TEST(Success, WordsInALogDoNotMakeOne) {
  EXPECT_FALSE(judged("mAP: 0.9", {}, {.cause = Cause::failed}, kMap).good);
  const Success roadmap = judged("roadmap: implement it", {}, {.cause = Cause::success}, kMap);
  EXPECT_FALSE(roadmap.good);
  EXPECT_EQ(roadmap.cause, Cause::expectation_unmet);
  EXPECT_THAT(roadmap.missing_metrics, ElementsAre("mAP"));
  EXPECT_TRUE(judged("mAP: 0.9", {}, {.cause = Cause::success}, kMap).good);
  EXPECT_TRUE(judged("", {}, {.cause = Cause::success}, {}).good);
}

TEST(Success, NeedsWhatIsExpected) {
  Terms terms;
  terms.expect = Expectation{.metrics = {"mAP"},
                             .least_seconds = 60,
                             .must_match = {"done"},
                             .must_not_match = {"not implemented"}};
  const AttemptFacts good{.cause = Cause::success, .seconds = 100};
  EXPECT_TRUE(judged("mAP: 1\ndone", terms, good, kMap).good);
  EXPECT_THAT(judged("done", terms, good, kMap).reason, HasSubstr("metric mAP"));
  EXPECT_THAT(judged("mAP: 1\ndone", terms, {.cause = Cause::success, .seconds = 3.9}, kMap).reason,
              HasSubstr("after 3.9 s"));
  EXPECT_THAT(judged("mAP: 1", terms, good, kMap).reason, HasSubstr("'done'"));
  EXPECT_THAT(judged("mAP: 1\ndone\nnot implemented", terms, good, kMap).reason,
              HasSubstr("not implemented"));
}

TEST(Success, ARunFarShorterThanOthersIsSuspicious) {
  EXPECT_TRUE(suspiciously_short(3.9, {1200, 1190, 1300}));
  EXPECT_FALSE(suspiciously_short(1100, {1200, 1190, 1300}));
  EXPECT_FALSE(suspiciously_short(3.9, {1200}));
  EXPECT_FALSE(suspiciously_short(0.1, {2, 2, 2}));
}

Values batch_of(double size) {
  Values values;
  values.set("batch_size", {.number = size, .whole = true});
  return values;
}

Retry::Move move_after(Cause cause, unsigned number = 1, unsigned times = 1) {
  return decide({.cause = cause, .number = number, .times_with_that_cause = times}, 2, {},
                batch_of(64))
      .move;
}

TEST(Retry, FollowsTheCause) {
  EXPECT_EQ(move_after(Cause::gpu_memory_neighbour), Retry::Move::same);
  EXPECT_EQ(move_after(Cause::gpu_memory_neighbour, 2, 2), Retry::Move::same);
  EXPECT_EQ(move_after(Cause::gpu_memory_neighbour, 3, 3), Retry::Move::stop);
  EXPECT_EQ(move_after(Cause::timed_out), Retry::Move::same);
  EXPECT_EQ(move_after(Cause::timed_out, 2, 2), Retry::Move::stop);
  EXPECT_EQ(move_after(Cause::missing_dependency), Retry::Move::stop);
  EXPECT_EQ(move_after(Cause::failed), Retry::Move::stop);
  EXPECT_EQ(move_after(Cause::gpu_memory_own), Retry::Move::stop);
  EXPECT_EQ(move_after(Cause::not_admitted, 2, 2), Retry::Move::same);
  for (const Cause cause : {Cause::not_supervised, Cause::not_started, Cause::no_result}) {
    EXPECT_EQ(move_after(cause), Retry::Move::stop) << name(cause);
  }
}

TEST(Retry, ItsOwnMemoryIsRetriedSmallerWhereShrinkSaysHow) {
  Terms terms;
  terms.shrink = Shrink{.parameter = "batch_size", .factor = 0.5, .least = 16};
  const Retry half = decide({.cause = Cause::gpu_memory_own}, 5, terms, batch_of(33));
  EXPECT_EQ(half.move, Retry::Move::smaller);
  EXPECT_EQ(half.values.find("batch_size")->number, 16);
  EXPECT_EQ(decide({.cause = Cause::gpu_memory_own}, 5, terms, batch_of(16)).move,
            Retry::Move::stop);
}

TEST(Retry, RetryOnReplacesThePolicy) {
  Terms terms;
  terms.retry_on = std::vector{Cause::failed};
  EXPECT_EQ(decide({.cause = Cause::failed}, 2, terms, {}).move, Retry::Move::same);
  EXPECT_EQ(decide({.cause = Cause::timed_out}, 2, terms, {}).move, Retry::Move::stop);
}

TEST(Table, ARowOfTooManyCellsIsRefused) {
  EXPECT_EQ(parse_table(std::string(kMostCells - 1, ',')).at(0).size(), kMostCells);
  expect_error(ErrorKind::input, {"row 2", "10000 cells"},
               [] { parse_table("a\n" + std::string(kMostCells, ',')); });
}

TEST(Table, ReadsBackWhatItWrote) {
  const Row row = {"", "a,b", "say \"x\"", "two\nlines"};
  EXPECT_EQ(parse_table(table_line(row)), (std::vector<Row>{row}));
}

}  // namespace
}  // namespace plimsoll::experiment
