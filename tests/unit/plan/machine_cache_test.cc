#include "plan/machine_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/error.h"
#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::plan {
namespace {

namespace fs = std::filesystem;

const Machine kMachine = {.reads_per_second = 257'123.4,
                          .read_bytes = 512,
                          .read_bytes_per_second = 4.1e9,
                          .read_method = "io_uring",
                          .flops_per_second = 196e9,
                          .rows_per_second = 6.9e6,
                          .threads = 2};

void expect_same(const std::optional<Machine>& machine, const Machine& expected) {
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->reads_per_second, expected.reads_per_second);
  EXPECT_EQ(machine->read_bytes, expected.read_bytes);
  EXPECT_EQ(machine->read_bytes_per_second, expected.read_bytes_per_second);
  EXPECT_EQ(machine->read_method, expected.read_method);
  EXPECT_EQ(machine->flops_per_second, expected.flops_per_second);
  EXPECT_EQ(machine->rows_per_second, expected.rows_per_second);
  EXPECT_EQ(machine->threads, expected.threads);
}

memory::Host host_with(std::map<std::string, std::string> variables) {
  return {.variable = [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  }};
}

class MachineCache : public testing::Test {
 protected:
  TempFolder folder_;
  fs::path file_ = folder_ / "plimsoll/machine.json";  // in a folder that is not there yet
};

TEST_F(MachineCache, GivesBackWhatWasSaved) {
  EXPECT_TRUE(save_machine(file_, "this", kMachine));
  expect_same(load_machine(file_, "this"), kMachine);
  EXPECT_EQ(names_in(file_.parent_path()), std::vector<std::string>{"machine.json"});
}

TEST_F(MachineCache, KeepsOneEntryAKey) {
  Machine other = kMachine;
  other.threads = 16;
  other.read_method = "pread on 32 threads";
  EXPECT_TRUE(save_machine(file_, "this", kMachine));
  EXPECT_TRUE(save_machine(file_, "other", other));
  expect_same(load_machine(file_, "this"), kMachine);
  expect_same(load_machine(file_, "other"), other);
  EXPECT_TRUE(save_machine(file_, "this", other));
  expect_same(load_machine(file_, "this"), other);
}

TEST_F(MachineCache, KnowsNothingOfAnotherKeyOrAMissingFile) {
  EXPECT_FALSE(load_machine(file_, "this"));
  EXPECT_TRUE(save_machine(file_, "this", kMachine));
  EXPECT_FALSE(load_machine(file_, "that"));
  EXPECT_FALSE(load_machine(folder_.path(), "this"));
  EXPECT_FALSE(load_machine({}, "this"));
}

TEST_F(MachineCache, ThatIsDamagedIsForgottenAndMadeAnew) {
  ASSERT_TRUE(save_machine(file_, "this", kMachine));
  const std::string good = read_file(file_);
  const auto replaced = [&](const std::string& what, const std::string& by) {
    std::string text = good;
    const size_t place = text.find(what);
    EXPECT_NE(place, std::string::npos) << what;
    return text.replace(place, what.size(), by);
  };
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[1, 2]"), std::string("null"),
        std::string("\xff\xfe\x00", 3), good.substr(0, good.size() / 2), std::string(5000, '['),
        replaced("\"version\": 1", "\"version\": 2"), replaced("\"machines\"", "\"engines\""),
        replaced("\"this\": {", "\"this\": 5, \"that\": {"), replaced("257123.4", "\"fast\""),
        replaced("257123.4", "-1"), replaced("257123.4", "1e999"), replaced("512", "-512"),
        replaced("\"threads\": 2", "\"threads\": 4294967298"), replaced("\"io_uring\"", "7")}) {
    write_file(file_, text);
    EXPECT_FALSE(load_machine(file_, "this")) << text;
    EXPECT_TRUE(save_machine(file_, "this", kMachine)) << text;
    expect_same(load_machine(file_, "this"), kMachine);
  }
}

TEST_F(MachineCache, ThatCannotBeWrittenIsNoError) {
  write_file(folder_ / "plimsoll", "a file where the folder should be");
  EXPECT_FALSE(save_machine(file_, "this", kMachine));
  EXPECT_FALSE(load_machine(file_, "this"));
  EXPECT_FALSE(save_machine({}, "this", kMachine));
  EXPECT_FALSE(save_machine("/proc/plimsoll/machine.json", "this", kMachine));
  // A folder has the file's name: the entry cannot be put in its place, and nothing is left
  // behind.
  fs::create_directories(folder_ / "taken/machine.json/x");
  EXPECT_FALSE(save_machine(folder_ / "taken/machine.json", "this", kMachine));
  EXPECT_EQ(names_in(folder_ / "taken"), std::vector<std::string>{"machine.json"});
}

TEST_F(MachineCache, InAReadOnlyFolderIsNoError) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_FALSE(save_machine(file_, "this", kMachine));
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

TEST_F(MachineCache, LiesWhereTheUserKeepsCaches) {
  EXPECT_EQ(machine_cache_file(host_with({{"XDG_CACHE_HOME", "/c"}, {"HOME", "/home/me"}})),
            "/c/plimsoll/machine.json");
  EXPECT_EQ(machine_cache_file(host_with({{"HOME", "/home/me"}})),
            "/home/me/.cache/plimsoll/machine.json");
  EXPECT_EQ(machine_cache_file(host_with({{"XDG_CACHE_HOME", "here"}, {"HOME", "/home/me"}})),
            "/home/me/.cache/plimsoll/machine.json");
  EXPECT_EQ(machine_cache_file(host_with({{"XDG_CACHE_HOME", ""}, {"HOME", ""}})), "");
  EXPECT_EQ(machine_cache_file(host_with({})), "");
}

TEST_F(MachineCache, HasAKeyOfCpuThreadsAndDisk) {
  write_file(folder_ / "proc/cpuinfo",
             "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9\nmodel name\t: another\n");
  memory::Host host = host_with({});
  host.root = folder_.path();
  const std::string key = machine_key(folder_.path(), 2, host);
  EXPECT_EQ(key.find("AMD EPYC 9, 2 threads, disk "), 0U) << key;
  EXPECT_NE(machine_key(folder_.path(), 3, host), key);
  if (fs::exists("/dev/shm")) {
    EXPECT_NE(machine_key("/dev/shm", 2, host), key);
  }
  write_file(folder_ / "proc/cpuinfo", "");
  EXPECT_NE(machine_key(folder_.path(), 2, host), key);
}

TEST_F(MachineCache, KnowsASmallFileFromALargeOne) {
  write_file(folder_ / "small", "x");
  write_file(folder_ / "large", "x");
  fs::resize_file(folder_ / "large", kGiB);  // a hole
  EXPECT_NE(machine_key(folder_ / "small", 2), machine_key(folder_ / "large", 2));
  EXPECT_EQ(machine_key(folder_.path(), 2), machine_key(folder_ / "large", 2));
}

TEST_F(MachineCache, IsAskedBeforeMeasuring) {
  write_file(folder_ / "rows", std::string(kMiB, 'x'));
  const std::string before =
      ::getenv("XDG_CACHE_HOME") != nullptr ? ::getenv("XDG_CACHE_HOME") : "";
  ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
  memory::Ledger ledger(16 * kMiB);
  const Machine measured = known_machine(folder_ / "rows", 1, /*again=*/false, ledger);
  EXPECT_TRUE(fs::exists(file_));
  memory::Ledger none(0);  // measuring would need memory
  expect_same(known_machine(folder_ / "rows", 1, /*again=*/false, none), measured);
  EXPECT_THROW(known_machine(folder_ / "rows", 1, /*again=*/true, none), Error);
  before.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", before.c_str(), 1);
}

}  // namespace
}  // namespace plimsoll::plan
