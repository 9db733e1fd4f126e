#include "process/registry.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "process/tree_group.h"
#include "temp_folder.h"

namespace plimsoll::process {
namespace {

namespace fs = std::filesystem;

Host host_with(const std::string& name, const std::string& value) {
  return {.root = "/", .variable = [=](const std::string& asked) -> std::optional<std::string> {
            if (asked == name) return value;
            return {};
          }};
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(Registry, ARunsNameSaysWhoseItIs) {
  const ProcessId self = ProcessId::of_this_process();
  const std::string run = name_run(self);
  EXPECT_NE(run, name_run(self)) << "a process may have several runs";
  const auto supervisor = supervisor_of(run);
  ASSERT_TRUE(supervisor);
  EXPECT_EQ(supervisor->pid, self.pid);
  EXPECT_EQ(supervisor->start_ticks, self.start_ticks);
  EXPECT_EQ(supervisor->pid_namespace, self.pid_namespace);
  EXPECT_EQ(presence_of(*supervisor), Presence::running);
}

TEST(Registry, ANameOfAnotherBootIsNobodysThatLives) {
  const ProcessId self = ProcessId::of_this_process();
  const auto supervisor =
      supervisor_of(name_run({"ffffffff-0000", self.pid, self.start_ticks, self.pid_namespace}));
  ASSERT_TRUE(supervisor);
  EXPECT_EQ(presence_of(*supervisor), Presence::ended);
}

TEST(Registry, ANameOfAnotherNamespaceIsNotJudged) {
  ProcessId other = ProcessId::of_this_process();
  other.pid_namespace += 1;
  const auto supervisor = supervisor_of(name_run(other));
  ASSERT_TRUE(supervisor);
  EXPECT_EQ(presence_of(*supervisor), Presence::elsewhere);
}

TEST(Registry, KnowsWhatIsNoNameOfARun) {
  for (const char* text :
       {"", "what a user has put there", "../../x", "0123abcd-1-2-3", "0123abcd-1-2-3-4-5",
        "0123abcd-1-2-3-4/", "0123abcd-0-2-3-4", "0123abcd--1-2-3-4", "0123abcX-1-2-3-4",
        "0123abcd-99999999999-2-3-4", "0123abcd-1-2-3-"}) {
    EXPECT_FALSE(supervisor_of(text)) << text;
  }
  EXPECT_TRUE(supervisor_of("0123abcd-1-2-3-4"));
}

TEST(Registry, FindsTheFolderForState) {
  EXPECT_EQ(state_folder(host_with("XDG_STATE_HOME", "/s")), "/s/plimsoll");
  EXPECT_EQ(state_folder(host_with("HOME", "/home/a")), "/home/a/.local/state/plimsoll");
  EXPECT_EQ(state_folder(host_with("NOTHING", "")), "");
}

class RecordsOfRuns : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(obstacle_to_records(state()), ""); }

  fs::path state() const { return folder_.path() / "plimsoll"; }

  static RunRecord record() {
    const ProcessId self = ProcessId::of_this_process();
    return {.run = name_run(self),
            .host = host_name(),
            .keeper = self,
            .command = {"python", "train.py", "\xff"},
            .folder = "/home",
            .started = 17.5,
            .level = Level::sweep,
            .groups = {},
            .log = "/home/run.log"};
  }

  // Why the one record is not used.
  std::string refusal() const {
    const Records records = read_records(state());
    EXPECT_TRUE(records.usable.empty());
    EXPECT_EQ(records.unusable.size(), 1U);
    return records.unusable.empty() ? "" : records.unusable.front().why;
  }

  // Writes one in which `from` has become `to`.
  void forge(const std::string& from, const std::string& to) const {
    const fs::path file = write_record(state(), record());
    std::string text = text_of(file);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    std::ofstream(file) << text.replace(at, from.size(), to);
  }

  TempFolder folder_;
};

TEST_F(RecordsOfRuns, ReadsBackWhatItWroteAndOnlyForThisMachine) {
  RunRecord written = record();
  const fs::path file = write_record(state(), written);
  EXPECT_EQ(file, record_file(state(), written.run));
  RunRecord other = record();
  other.host = "elsewhere";
  other.run = name_run({"ffffffff", 17, 18, 19});
  write_record(state(), other);
  const Records records = read_records(state());
  ASSERT_EQ(records.usable.size(), 1U);
  EXPECT_TRUE(records.unusable.empty());
  EXPECT_EQ(records.usable[0].run, written.run);
  EXPECT_EQ(records.usable[0].command[1], "train.py");
  EXPECT_EQ(presence_of(records.usable[0].keeper), Presence::running);
  remove_record(state(), written.run);
  EXPECT_TRUE(read_records(state()).usable.empty());
}

TEST_F(RecordsOfRuns, NamesARecordThatItCannotRead) {
  std::ofstream(state() / "runs" / (name_run({"0123abcd", 1, 2, 3}) + ".json")) << "{\"run\": ";
  EXPECT_NE(refusal().find("damaged"), std::string::npos);
}

TEST_F(RecordsOfRuns, NamesAnEmptyOneAndOneThatWasNeverFinished) {
  std::ofstream(state() / "runs" / (name_run({"0123abcd", 1, 2, 3}) + ".json")) << "";
  EXPECT_NE(refusal().find("damaged"), std::string::npos);
  fs::remove(*fs::directory_iterator(state() / "runs"));
  std::ofstream(state() / "runs" / (name_run({"0123abcd", 1, 2, 3}) + ".json.new")) << "";
  EXPECT_NE(refusal().find("never finished"), std::string::npos);
}

TEST_F(RecordsOfRuns, DoesNotFollowALink) {
  const fs::path file = write_record(state(), record());
  fs::rename(file, folder_.path() / "kept");
  fs::create_symlink(folder_.path() / "kept", file);
  EXPECT_NE(refusal().find("symbolic link"), std::string::npos);
}

TEST_F(RecordsOfRuns, DoesNotWaitForAPipe) {
  ASSERT_EQ(mkfifo((state() / "runs" / (record().run + ".json")).c_str(), 0600), 0);
  EXPECT_NE(refusal().find("not a regular file"), std::string::npos);
}

TEST_F(RecordsOfRuns, DoesNotBelieveWhatOthersCouldHaveWritten) {
  const fs::path file = write_record(state(), record());
  chmod(file.c_str(), 0666);
  EXPECT_NE(refusal().find("other users"), std::string::npos);
  chmod(file.c_str(), 0600);
  EXPECT_EQ(read_records(state()).usable.size(), 1U);
  for (const fs::path& folder : {state() / "runs", state()}) {
    chmod(folder.c_str(), 0777);
    EXPECT_NE(refusal().find("other users"), std::string::npos) << folder;
    EXPECT_EQ(obstacle_to_records(state()), "") << "the folder is ours, and is closed to others";
    EXPECT_EQ(read_records(state()).usable.size(), 1U) << folder;
  }
}

TEST_F(RecordsOfRuns, DoesNotBelieveAnotherUsersFile) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const fs::path file = write_record(state(), record());
  ASSERT_EQ(chown(file.c_str(), 12345, 12345), 0);
  EXPECT_NE(refusal().find("belongs to user 12345"), std::string::npos);
  ASSERT_EQ(chown(file.c_str(), 0, 0), 0);
  ASSERT_EQ(chown((state() / "runs").c_str(), 12345, 12345), 0);
  EXPECT_NE(refusal().find("belongs to user 12345"), std::string::npos);
  EXPECT_NE(obstacle_to_records(state()).find("belongs to user 12345"), std::string::npos);
}

TEST_F(RecordsOfRuns, DoesNotBelieveAGroupThatPlimsollWouldNotHaveMade) {
  for (const char* group : {"/sys/fs/cgroup/system.slice", "/home/ada", "/", "",
                            "relative/plimsoll-x", "/sys/fs/cgroup/../../home"}) {
    forge("\"groups\":[]", std::string("\"groups\":[\"") + group + "\"]");
    EXPECT_NE(refusal().find("not a control group of this run"), std::string::npos) << group;
    fs::remove(*fs::directory_iterator(state() / "runs"));
  }
}

TEST_F(RecordsOfRuns, DoesNotBelieveAGroupOfTheRightNameInAnOrdinaryFolder) {
  RunRecord forged = record();
  forged.groups = {folder_.path() / (kGroupPrefix + forged.run)};
  fs::create_directory(forged.groups.front());
  write_record(state(), forged);
  EXPECT_NE(refusal().find("not a control group of this run"), std::string::npos);
}

TEST_F(RecordsOfRuns, DoesNotBelieveAnotherRunsName) {
  forge("\"run\":\"", "\"run\":\"../../");
  EXPECT_NE(refusal().find("another run"), std::string::npos);
}

TEST_F(RecordsOfRuns, DoesNotBelieveImpossibleValues) {
  forge("\"level\":\"sweep\"", "\"level\":\"magic\"");
  EXPECT_NE(refusal().find("unknown level"), std::string::npos);
  fs::remove(*fs::directory_iterator(state() / "runs"));
  forge("\"pid\":", "\"pid\":-");
  EXPECT_NE(refusal().find("keeper"), std::string::npos);
  fs::remove(*fs::directory_iterator(state() / "runs"));
  forge("\"/home/run.log\"", "\"../run.log\"");
  EXPECT_NE(refusal().find("relative path"), std::string::npos);
}

TEST_F(RecordsOfRuns, AFullDiskIsAnErrorThatLeavesNothing) {
  if (mount("none", (state() / "runs").c_str(), "tmpfs", 0, "size=4k,mode=700") != 0) {
    GTEST_SKIP() << "no file system can be mounted here";
  }
  std::ofstream(state() / "runs/filler") << std::string(4096, 'x');
  ErrorKind kind = ErrorKind::internal;
  try {
    write_record(state(), record());
  } catch (const Error& error) {
    kind = error.kind();
  }
  const auto files = std::distance(fs::directory_iterator(state() / "runs"), {});
  umount((state() / "runs").c_str());
  EXPECT_EQ(kind, ErrorKind::disk);
  EXPECT_EQ(files, 1);
}

TEST(Registry, SaysWhyItDoesWithoutAFolder) {
  EXPECT_NE(obstacle_to_records("").find("HOME"), std::string::npos);
  EXPECT_NE(obstacle_to_records("/proc/nowhere/plimsoll").find("/proc/nowhere"), std::string::npos);
  EXPECT_TRUE(read_records("").usable.empty());
  const Records none = read_records("/proc/nowhere");
  EXPECT_TRUE(none.usable.empty() && none.unusable.empty());
}

}  // namespace
}  // namespace plimsoll::process
