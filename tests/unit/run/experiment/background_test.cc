#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "experiment/background_load.h"
#include "experiment/example_files.h"
#include "experiment/settings.h"

namespace plimsoll::experiment {
namespace {

using testing::HasSubstr;
using testing::Not;

process::ProcessStat process(pid_t pid, uint64_t start, double cpu_seconds) {
  process::ProcessStat stat{.pid = pid, .start_ticks = start};
  stat.cpu_ticks = static_cast<uint64_t>(cpu_seconds * static_cast<double>(sysconf(_SC_CLK_TCK)));
  return stat;
}

TEST(TreeCpu, CountsWhatEachProcessUsedSinceTheLastLook) {
  TreeCpu cpu;
  EXPECT_DOUBLE_EQ(cpu.look({process(10, 1, 2)}), 2);
  EXPECT_DOUBLE_EQ(cpu.look({process(10, 1, 5)}), 3);
  EXPECT_DOUBLE_EQ(cpu.look({process(10, 1, 5), process(11, 2, 1)}), 1);
}

TEST(TreeCpu, DoesNotTakeANewProcessForAnOldOneWithItsPid) {
  TreeCpu cpu;
  cpu.look({process(10, 1, 100)});
  EXPECT_DOUBLE_EQ(cpu.look({process(10, 7, 4)}), 4);
  EXPECT_DOUBLE_EQ(cpu.look({}), 0);
}

TEST(LoadWatch, JudgesAtTheEndOfAWindow) {
  LoadWatch watch(30);
  EXPECT_FALSE(watch.add(100, {}));
  EXPECT_FALSE(watch.add(120, {.cpu_seconds = 0.1}));
  const auto idle = watch.add(130, {});
  ASSERT_TRUE(idle);
  EXPECT_FALSE(idle->is_load());
  EXPECT_FALSE(watch.add(150, {.cpu_seconds = 5}));
  EXPECT_TRUE(watch.add(160, {})->is_load());
}

TEST(LoadWatch, TakesAGpuThatComputesForALoad) {
  LoadWatch watch(30);
  watch.add(0, {});
  EXPECT_TRUE(watch.in_doubt(10));
  watch.add(10, {.gpu = true});
  EXPECT_FALSE(watch.in_doubt(20));
  EXPECT_TRUE(watch.add(30, {})->is_load());
  EXPECT_TRUE(watch.gpu_seen());
}

TEST(BackgroundLoad, IsNoneThatEndsAtOnceOrFailsOrDoesNothing) {
  const auto end = [](Cause cause, double seconds, double cpu_seconds) {
    return ChildEnd{.cause = cause, .seconds = seconds, .cpu_seconds = cpu_seconds};
  };
  EXPECT_EQ(invalid_because(end(Cause::success, 60, 50), false), std::nullopt);
  EXPECT_THAT(*invalid_because(end(Cause::success, 1, 1), true), HasSubstr("it ended after 1.0 s"));
  EXPECT_THAT(*invalid_because(end(Cause::failed, 60, 50), true),
              HasSubstr("it ended with failed"));
  EXPECT_THAT(*invalid_because(end(Cause::success, 60, 0.1), false), HasSubstr("no GPU in 1 min"));
  EXPECT_EQ(invalid_because(end(Cause::success, 60, 0.1), true), std::nullopt);
  EXPECT_EQ(invalid_because(end(Cause::timed_out, 3, 2), false),
            std::nullopt);  // its own time limit
}

TEST(BackgroundLoad, HasTermsOfItsOwnAndIsToldWhatItCannotHave) {
  const Catalog catalog = example_catalog();
  Problems problems;
  const Settings settings = read_settings(
      R"({"experiments": [{"mode": "parallel", "background_max_runs": 4, "timeout": "1h",
        "foreground": {"repo": "examples", "model": "mnist"},
        "background": {"repo": "plain", "mode": "mutation", "timeout": 60, "shrink": {"width": 0.5}}}]})",
      "s.json", catalog, problems);
  ASSERT_EQ(settings.entries.size(), 1);
  EXPECT_EQ(settings.entries[0].terms.timeout_seconds, 3600);
  EXPECT_EQ(settings.entries[0].background_terms.timeout_seconds, 60);
  EXPECT_EQ(settings.entries[0].background_terms.background_runs, 4);
  EXPECT_THAT(all_of(problems), HasSubstr("warning: mode mutation is ignored"));
  EXPECT_THAT(all_of(problems), HasSubstr("error: shrink has no meaning for a background"));
}

}  // namespace
}  // namespace plimsoll::experiment
