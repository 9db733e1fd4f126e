#include "base/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace plimsoll {
namespace {

constexpr std::chrono::milliseconds kLongStep(1150);  // over the second from which steps show

std::string stderr_of(const std::function<void()>& action) {
  testing::internal::CaptureStderr();
  action();
  return testing::internal::GetCapturedStderr();
}

// Half before the wait and half after it, of twice as many as both.
std::string long_step(ProgressStyle style, std::string_view unit, uint64_t half = 1000) {
  return stderr_of([&] {
    Progress progress(style);
    progress.start_step("reading edges", unit, 4 * half);
    progress.add(half);
    std::this_thread::sleep_for(kLongStep);
    progress.add(half);
    progress.finish_step();
  });
}

size_t cells_of(const std::string& bar) {  // bytes that begin a UTF-8 character
  return static_cast<size_t>(
      std::count_if(bar.begin(), bar.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(RenderBar, FillsItsShareInEighthsOfACell) {
  EXPECT_EQ(render_bar(0, 4), "    ");
  EXPECT_EQ(render_bar(1, 4), "████");
  EXPECT_EQ(render_bar(0.5, 4), "██  ");
  EXPECT_EQ(render_bar(1.0 / 8, 1), "▏");
  EXPECT_EQ(render_bar(7.0 / 8, 1), "▉");
  EXPECT_EQ(render_bar(0.6, 2), "█▎");
}

TEST(RenderBar, IsAlwaysAsWideAsAsked) {
  for (const int width : {1, 2, 7, 24}) {
    for (int percent = 0; percent <= 100; ++percent) {
      ASSERT_EQ(cells_of(render_bar(percent / 100.0, width)), static_cast<size_t>(width))
          << percent << " % of " << width;
    }
  }
  EXPECT_EQ(render_bar(0.5, 0), "");
}

TEST(RenderBar, ClampsSharesBelowNoneAndAboveAll) {
  EXPECT_EQ(render_bar(-0.5, 3), "   ");
  EXPECT_EQ(render_bar(1.5, 3), "███");
}

TEST(Progress, PrintsNothingForAStepShorterThanASecond) {
  for (const auto style : {ProgressStyle::lines, ProgressStyle::bar}) {
    EXPECT_EQ(stderr_of([&] {
                Progress progress(style);
                progress.start_step("reading edges", "edges", 100);
                for (int i = 0; i < 100; ++i) progress.add(1);
                progress.start_step("sorting edges", "edges", 100);
                progress.add(100);
              }),
              "");
  }
}

TEST(Progress, PrintsRateAndPercentOfALongStepAsLines) {
  const std::string text = long_step(ProgressStyle::lines, "edges");
  EXPECT_TRUE(holds(text, "reading edges")) << text;
  EXPECT_TRUE(holds(text, " 50%")) << text;
  EXPECT_TRUE(holds(text, " k edges/s")) << text;
  EXPECT_TRUE(holds(text, " left\n")) << text;
  EXPECT_TRUE(holds(text, "in 1.")) << text;
  EXPECT_FALSE(holds(text, "\r")) << text;
  EXPECT_EQ(text.back(), '\n');
  // One while it ran and one at its end: the next in between would come after ten seconds.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST(Progress, ShowsBytesAsMebibytes) {
  const std::string text = long_step(ProgressStyle::lines, "bytes", 115 << 20);
  // 230 MiB in 1.15 s or, on a busy machine, somewhat more.
  EXPECT_TRUE(holds(text, " MiB/s")) << text;
  const size_t end = text.find(" MiB/s");
  const size_t begin = text.rfind(' ', end - 1) + 1;
  const int rate = std::stoi(text.substr(begin, end - begin));
  EXPECT_LE(rate, 200) << text;
  EXPECT_GE(rate, 20) << text;
}

TEST(Progress, RedrawsOneLineAsABar) {
  const std::string text = long_step(ProgressStyle::bar, "edges");
  EXPECT_TRUE(holds(text, "\r  reading edges")) << text;
  EXPECT_TRUE(holds(text, "▕████████████            ▏  50%")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_EQ(text.back(), '\n');
}

TEST(Progress, PrintsNothingWhenSilent) {
  EXPECT_EQ(long_step(ProgressStyle::silent, "edges"), "");
}

TEST(Progress, StartsCountAndClockAnewWithEveryStep) {
  const std::string text = stderr_of([] {
    Progress progress(ProgressStyle::lines);
    progress.start_step("first", "rows", 10);
    progress.add(10);
    std::this_thread::sleep_for(kLongStep);
    progress.start_step("second", "rows", 10);
    progress.add(1);
  });
  EXPECT_EQ(text, "");  // the first never counted anything after its first second
}

TEST(Progress, CountsWhatManyThreadsAdd) {
  const std::string text = stderr_of([] {
    Progress progress(ProgressStyle::lines);
    progress.start_step("counting", "rows", 80'000);
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&] {
          for (int i = 0; i < 9'999; ++i) progress.add(1);
        });
      }
    }
    std::this_thread::sleep_for(kLongStep);
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 8; ++t) threads.emplace_back([&] { progress.add(1); });
    }
  });
  // The last line is the end of the step, with everything counted; one thread alone showed one
  // before.
  const size_t last = text.rfind("counting");
  ASSERT_NE(last, std::string::npos) << text;
  EXPECT_TRUE(holds(text.substr(last), "100%")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST(Progress, PrintsNothingOutsideOfAStep) {
  EXPECT_EQ(stderr_of([] {
              Progress progress(ProgressStyle::lines);
              progress.add(1);
            }),
            "");
}

TEST(Progress, IsSilentWhenAskedAndDrawsBarsOnlyOnATerminal) {
  EXPECT_EQ(Progress::detect(true), ProgressStyle::silent);
  testing::internal::CaptureStderr();  // stderr is a file now
  const ProgressStyle style = Progress::detect(false);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(style, ProgressStyle::lines);
}

}  // namespace
}  // namespace plimsoll
