#include "diagnosis/checkup.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

#include "base/units.h"

namespace plimsoll::diagnosis {
namespace {

MachineFacts good_machine() {
  MachineFacts facts;
  facts.kernel = "Linux 6.1";
  facts.supervision = {.pidfds = true,
                       .levels = {{process::Level::cgroup2, ""}},
                       .in_force = process::Level::cgroup2,
                       .memory_group = "cgroup v2",
                       .memory_obstacle = ""};
  facts.now.limit = {.bytes = 64 * kGiB, .winner = "RAM", .sources = {}};
  facts.now.available_bytes = 60 * kGiB;
  facts.now.oom_kills = 0;
  facts.now.kernel_log_readable = true;
  facts.now.shared_memory = Space{32 * kGiB, 32 * kGiB, 1'000'000};
  facts.driver_version = "550";
  facts.gpus = {{.index = 0,
                 .uuid = "GPU-a",
                 .name = "H200",
                 .total_bytes = 140 * kGiB,
                 .free_bytes = 140 * kGiB,
                 .energy_millijoules = 1}};
  facts.energy_zones = {{.name = "package-0", .microjoules = 1}};
  facts.disk = {.folder = "/", .space = Space{100 * kGiB, 50 * kGiB, 1'000'000}};
  facts.most_locked_bytes = RLIM_INFINITY;
  facts.most_open_files = 65536;
  facts.hard_open_files = 65536;
  return facts;
}

Check find(const MachineFacts& facts, const std::string& subject) {
  for (const Check& check : check_up(facts)) {
    if (check.subject == subject) return check;
  }
  ADD_FAILURE() << "no check of " << subject;
  return {};
}

TEST(Checkup, FindsNothingToBetterOnAGoodMachine) {
  for (const Check& check : check_up(good_machine())) {
    EXPECT_EQ(check.health, Health::good) << check.subject << ": " << check.state;
    EXPECT_EQ(check.remedy, "") << check.subject;
  }
}

TEST(Checkup, SaysThatASweepIsNoGuarantee) {
  MachineFacts facts = good_machine();
  facts.supervision.in_force = process::Level::sweep;
  facts.supervision.levels = {{process::Level::cgroup2, "/sys/fs/cgroup is read-only"}};
  const Check check = find(facts, "supervision");
  EXPECT_EQ(check.health, Health::limited);
  EXPECT_NE(check.state.find("without a guarantee"), std::string::npos);
  EXPECT_NE(check.state.find("no cgroup2: /sys/fs/cgroup is read-only"), std::string::npos);
  EXPECT_NE(check.remedy.find("Delegate=yes"), std::string::npos);
}

TEST(Checkup, SaysWhenMemoryIsOnlyWatched) {
  MachineFacts facts = good_machine();
  facts.supervision.memory_group = "";
  facts.supervision.memory_obstacle = "no controller";
  EXPECT_EQ(find(facts, "--memory of exec").health, Health::limited);
}

TEST(Checkup, NamesWhoHoldsAGpu) {
  MachineFacts facts = good_machine();
  facts.gpus[0].used_bytes = 20 * kGiB;
  facts.gpus[0].holders = {{.pid = 7, .user = "bob", .command = "python x.py", .bytes = 20 * kGiB}};
  const Check check = find(facts, "GPU 0");
  EXPECT_EQ(check.health, Health::limited);
  EXPECT_NE(check.state.find("held by python x.py (pid 7, bob, 20.0 GiB)"), std::string::npos);
}

TEST(Checkup, SaysWhyEnergyCannotBeRead) {
  MachineFacts facts = good_machine();
  facts.energy_zones[0].microjoules = {};
  facts.energy_zones[0].unreadable_because = "Permission denied";
  facts.gpus[0].energy_millijoules = {};
  EXPECT_EQ(find(facts, "CPU energy").state, "package-0 cannot be read: Permission denied");
  EXPECT_EQ(find(facts, "GPU energy").health, Health::bad);
  facts.gpus[0].power_watts = 70;
  EXPECT_EQ(find(facts, "GPU energy").health, Health::limited);
}

TEST(Checkup, WarnsOfWhatRunsWillFailOf) {
  MachineFacts facts = good_machine();
  facts.disk.space->free_bytes = 100 * kMiB;
  facts.now.shared_memory = Space{64 * kMiB, 64 * kMiB, 1000};
  facts.now.available_bytes = kGiB;
  facts.most_open_files = 1024;
  EXPECT_EQ(find(facts, "disk").health, Health::bad);
  EXPECT_EQ(find(facts, "/dev/shm").health, Health::bad);
  EXPECT_EQ(find(facts, "memory").health, Health::bad);
  EXPECT_EQ(find(facts, "ulimit -n").health, Health::limited);
}

TEST(Checkup, HasARemedyForAllThatIsNotGood) {
  for (const Check& check : check_up({})) {
    if (check.health == Health::good || check.subject == "disk") continue;
    EXPECT_NE(check.remedy, "") << check.subject;
  }
}

TEST(Checkup, ColoursOnlyWhereAskedTo) {
  const auto checks = check_up(good_machine());
  EXPECT_EQ(describe(checks, false).find('\x1b'), std::string::npos);
  EXPECT_NE(describe(checks, true).find("\x1b[32m✓"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::diagnosis
