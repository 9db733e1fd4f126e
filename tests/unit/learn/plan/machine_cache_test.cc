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
                          .most_reads_per_second = 412'345.6,
                          .read_bytes = 512,
                          .read_bytes_per_second = 4.1e9,
                          .read_method = "io_uring",
                          .making = {1e-4, 4e-8, 1.1e-7, 1.3e-7, 9e-9},
                          .step = {.fixed = {{{1e-4, 2e-5}, {2e-4, 3e-5}, {3e-4, 4e-5}, {}}},
                                   .narrow_flops = 2e10,
                                   .wide_flops = 9e10,
                                   .activations = 1e9,
                                   .sums = 2e9,
                                   .attention = 3e8,
                                   .losses = 4e8,
                                   .parameters = 5e8,
                                   .copied_bytes = 6e9,
                                   .threads = 3,
                                   .product_gain = 2.5,
                                   .pass_gain = 1.5,
                                   .on_gpu = {.start_seconds = 2.1e-6,
                                              .pass_bytes = 3.1e12,
                                              .row_bytes = 1.7e12,
                                              .far_bytes = 4.3e10,
                                              .narrow_flops = 2.3e12,
                                              .wide_flops = 3.7e13},
                                   .device = "cpu"},
                          .threads = 2};

void expect_same(const std::optional<Machine>& machine, const Machine& expected) {
  ASSERT_TRUE(machine);
  EXPECT_EQ(*machine, expected);
}

Host host_with(std::map<std::string, std::string> variables) {
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
  for (const std::string& text : {std::string(),
                                  std::string("{"),
                                  std::string("[1, 2]"),
                                  std::string("null"),
                                  std::string("\xff\xfe\x00", 3),
                                  good.substr(0, good.size() / 2),
                                  std::string(5000, '['),
                                  replaced("\"version\": ", "\"version\": 9"),
                                  replaced("\"machines\"", "\"engines\""),
                                  replaced("\"this\": {", "\"this\": 5, \"that\": {"),
                                  replaced("257123.4", "\"fast\""),
                                  replaced("257123.4", "-1"),
                                  replaced("257123.4", "1e999"),
                                  replaced("512", "-512"),
                                  replaced("\"threads\": 2", "\"threads\": 4294967298"),
                                  replaced("\"io_uring\"", "7"),
                                  replaced("\"gat\": {", "\"gta\": {"),
                                  replaced("\"making\"", "\"taking\""),
                                  replaced("\"attention\"", "\"retention\""),
                                  replaced("\"gpu_far_bytes\"", "\"far\""),
                                  replaced("\"gpu_row_bytes\": ", "\"gpu_row_bytes\": -")}) {
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
  Host host = host_with({});
  host.root = folder_.path();
  const std::string key = machine_key(folder_.path(), 2, "cpu", host);
  EXPECT_EQ(key.find("AMD EPYC 9, 2 threads, disk "), 0U) << key;
  EXPECT_NE(machine_key(folder_.path(), 3, "cpu", host), key);
  EXPECT_NE(machine_key(folder_.path(), 2, "NVIDIA H200", host), key);
  EXPECT_EQ(machine_key({}, 2, "cpu", host), "AMD EPYC 9, 2 threads, no disk, cpu");
  if (fs::exists("/dev/shm")) {
    EXPECT_NE(machine_key("/dev/shm", 2, "cpu", host), key);
  }
  write_file(folder_ / "proc/cpuinfo", "");
  EXPECT_NE(machine_key(folder_.path(), 2, "cpu", host), key);
}

TEST_F(MachineCache, KnowsASmallFileFromALargeOne) {
  write_file(folder_ / "small", "x");
  write_file(folder_ / "large", "x");
  fs::resize_file(folder_ / "large", kGiB);  // a hole
  EXPECT_NE(machine_key(folder_ / "small", 2, "cpu"), machine_key(folder_ / "large", 2, "cpu"));
  EXPECT_EQ(machine_key(folder_.path(), 2, "cpu"), machine_key(folder_ / "large", 2, "cpu"));
}

// A host whose CPUs do nothing, with a cache of its own.
class KnownMachine : public MachineCache {
 protected:
  KnownMachine() {
    write_file(folder_ / "rows", std::string(kMiB, 'x'));
    wanted_.host = host_with({{"XDG_CACHE_HOME", folder_.path().string()}});
    wanted_.host.root = folder_.path();
  }
  std::string key() const {
    return machine_key(wanted_.file, wanted_.threads, wanted_.device, wanted_.host);
  }

  MachineRequest wanted_ = {.file = folder_ / "rows"};
  memory::Ledger ledger_{32 * kMiB};
  memory::Ledger none_{0};  // measuring would need memory
};

TEST_F(KnownMachine, IsAskedBeforeMeasuring) {
  EXPECT_TRUE(must_measure(wanted_));
  const Machine measured = known_machine(wanted_, ledger_);
  EXPECT_TRUE(fs::exists(file_));
  EXPECT_FALSE(must_measure(wanted_));
  EXPECT_EQ(measured.other_load, 0);
  expect_same(known_machine(wanted_, none_), measured);
  wanted_.again = true;
  EXPECT_TRUE(must_measure(wanted_));
  EXPECT_THROW(known_machine(wanted_, none_), Error);
}

TEST_F(KnownMachine, IsMeasuredAgainWhenItWasBusyAndIsQuietNow) {
  Machine busy = kMachine;
  busy.other_load = 10'000;
  EXPECT_TRUE(busy.was_busy());
  ASSERT_TRUE(save_machine(file_, key(), busy));
  EXPECT_THROW(known_machine(wanted_, none_), Error);  // it was about to measure
  EXPECT_NE(known_machine(wanted_, ledger_), busy);
  EXPECT_FALSE(load_machine(file_, key())->was_busy());
}

TEST_F(KnownMachine, GetsItsStepsAsSoonAsThereIsALibrary) {
  Machine without = kMachine;
  without.step = {};
  ASSERT_TRUE(save_machine(file_, key(), without));
  expect_same(known_machine(wanted_, none_), without);
  wanted_.measure_steps = [](unsigned, memory::Ledger&) { return kMachine.step; };
  EXPECT_EQ(known_machine(wanted_, ledger_).step, kMachine.step);
  EXPECT_EQ(load_machine(file_, key())->step, kMachine.step);
}

}  // namespace
}  // namespace plimsoll::plan
