#include "process/registry.h"

#include <gtest/gtest.h>

#include <fstream>

#include "temp_folder.h"

namespace plimsoll::process {
namespace {

memory::Host host_with(const std::string& name, const std::string& value) {
  return {.root = "/", .variable = [=](const std::string& asked) -> std::optional<std::string> {
            if (asked == name) return value;
            return {};
          }};
}

TEST(Registry, ARunsNameSaysWhoseItIs) {
  const ProcessId self = ProcessId::of_this_process();
  const std::string run = name_run(self);
  EXPECT_NE(run, name_run(self)) << "a process may have several runs";
  const auto supervisor = supervisor_of(run);
  ASSERT_TRUE(supervisor);
  EXPECT_EQ(supervisor->pid, self.pid);
  EXPECT_EQ(supervisor->start_ticks, self.start_ticks);
  EXPECT_TRUE(is_running(*supervisor));
}

TEST(Registry, ANameOfAnotherBootIsNobodysThatLives) {
  const ProcessId self = ProcessId::of_this_process();
  const auto supervisor = supervisor_of(name_run({"ffffffff-0000", self.pid, self.start_ticks}));
  ASSERT_TRUE(supervisor);
  EXPECT_FALSE(is_running(*supervisor));
  EXPECT_FALSE(supervisor_of("what a user has put there"));
  EXPECT_FALSE(supervisor_of(""));
}

TEST(Registry, FindsTheFolderForState) {
  EXPECT_EQ(state_folder(host_with("XDG_STATE_HOME", "/s")), "/s/plimsoll");
  EXPECT_EQ(state_folder(host_with("HOME", "/home/a")), "/home/a/.local/state/plimsoll");
  EXPECT_EQ(state_folder(host_with("NOTHING", "")), "");
}

TEST(Registry, ReadsBackWhatItWroteAndOnlyForThisMachine) {
  const TempFolder folder;
  RunRecord record{.run = "a",
                   .host = host_name(),
                   .supervisor = ProcessId::of_this_process(),
                   .command = {"python", "train.py", "\xff"},
                   .folder = "/home",
                   .started = 17.5,
                   .level = "sweep",
                   .groups = {"/sys/fs/cgroup/x"},
                   .log = "/home/run.log"};
  EXPECT_FALSE(write_record(folder.path(), record).empty());
  record.run = "b";
  record.host = "elsewhere";
  write_record(folder.path(), record);
  std::ofstream(folder.path() / "runs/broken.json") << "{\"run\": ";
  const auto records = read_records(folder.path());
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].run, "a");
  EXPECT_EQ(records[0].command[1], "train.py");
  EXPECT_EQ(records[0].supervisor.start_ticks, ProcessId::of_this_process().start_ticks);
  EXPECT_EQ(records[0].groups, std::vector<std::filesystem::path>{"/sys/fs/cgroup/x"});
  remove_record(folder.path(), "a");
  EXPECT_TRUE(read_records(folder.path()).empty());
}

TEST(Registry, DoesWithoutAFolderItCannotWrite) {
  EXPECT_TRUE(write_record("", {}).empty());
  EXPECT_TRUE(write_record("/proc/nowhere", {}).empty());
  EXPECT_TRUE(read_records("/proc/nowhere").empty());
}

}  // namespace
}  // namespace plimsoll::process
