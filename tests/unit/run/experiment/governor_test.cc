#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "experiment/machine.h"
#include "temp_folder.h"

namespace plimsoll::experiment {
namespace {

TEST(Governor, ComesBackAtTheEnd) {
  const TempFolder cpus;
  const auto file = cpus / "cpu0/cpufreq/scaling_governor";
  write_file(file, "powersave\n");
  {
    const Governor governor("performance", cpus.path());
    EXPECT_EQ(governor.obstacle(), "");
    EXPECT_EQ(read_file(file), "performance");
  }
  EXPECT_EQ(read_file(file), "powersave\n");
}

TEST(Governor, ComesBackAfterAKill) {
  const TempFolder cpus;
  const auto file = cpus / "cpu0/cpufreq/scaling_governor";
  write_file(file, "powersave\n");
  const pid_t child = fork();
  if (child == 0) {
    const Governor governor("performance", cpus.path());
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  for (int i = 0; i < 100 && read_file(file) != "powersave\n"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(read_file(file), "powersave\n");
}

TEST(Governor, SaysWhereThereIsNone) {
  const TempFolder cpus;
  EXPECT_NE(Governor("performance", cpus.path()).obstacle(), "");
  EXPECT_EQ(Governor("", cpus.path()).obstacle(), "");
}

}  // namespace
}  // namespace plimsoll::experiment
