#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "energy/counter.h"
#include "meter/fake_powercap.h"
#include "temp_folder.h"

namespace plimsoll::energy {
namespace {

class Counters : public testing::Test {
 protected:
  void add_zone(const std::string& folder, const std::string& name, const std::string& energy) {
    meter::add_zone(root_, folder, name, energy);
  }
  void add_perf() {
    const auto device = root_ / "sys/bus/event_source/devices/power";
    write_file(device / "type", "21\n");
    write_file(device / "cpumask", "0,28\n");
    write_file(device / "events/energy-pkg", "event=0x02\n");
    write_file(device / "events/energy-pkg.scale", "2.5e-10\n");
    write_file(device / "events/energy-ram", "event=0x03\n");
    write_file(device / "events/energy-ram.scale", "2.5e-10\n");
    write_file(root_ / "proc/sys/kernel/perf_event_paranoid", "2\n");
  }
  CpuCounters open(const CpuCounters::OpenEvent& event) const {
    return CpuCounters::open({.root = root_.path(), .variable = {}}, event);
  }
  static Fd refuse(const meter::PowerEvent&) {
    errno = EACCES;
    return {};
  }

  TempFolder root_;
};

TEST_F(Counters, ComeFromPowercapWhereItIsOpen) {
  add_zone("intel-rapl:0", "package-0", "1000000\n");
  add_zone("intel-rapl:0:0", "dram", "500000\n");
  add_zone("intel-rapl:0:1", "core", "700000\n");
  add_perf();
  CpuCounters counters = open(refuse);
  EXPECT_EQ(counters.source(), "powercap");
  ASSERT_EQ(counters.domains().size(), 2U);
  EXPECT_FALSE(counters.domains()[0].is_memory);
  EXPECT_TRUE(counters.domains()[1].is_memory);
  counters.read(0);
  add_zone("intel-rapl:0", "package-0", "4500000\n");
  const auto later = counters.read(1);
  ASSERT_TRUE(later[0]);
  EXPECT_DOUBLE_EQ(later[0]->joules, 3.5);
  EXPECT_DOUBLE_EQ(later[1].value_or(Cumulative{.joules = -1}).joules, 0);
}

TEST_F(Counters, ComeFromPerfWherePowercapIsClosed) {
  add_zone("intel-rapl:0", "package-0", "");
  add_perf();
  std::vector<std::pair<uint64_t, int>> opened;
  CpuCounters counters = open([&](const meter::PowerEvent& event) {
    EXPECT_EQ(event.type, 21U);
    opened.emplace_back(event.config, event.cpu);
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const std::array<uint64_t, 2> counts = {4'000'000'000, 12'000'000'000};
    EXPECT_EQ(write(ends[1], counts.data(), sizeof counts), 16);
    close(ends[1]);
    return Fd(ends[0]);
  });
  EXPECT_EQ(counters.source(), "perf");
  const std::vector<std::pair<uint64_t, int>> expected = {{2, 0}, {2, 28}, {3, 0}, {3, 28}};
  EXPECT_EQ(opened, expected);
  counters.read(0);
  const auto later = counters.read(1);
  for (const auto& reading : later) {
    EXPECT_DOUBLE_EQ(reading.value_or(Cumulative{}).joules, 2);
  }
  EXPECT_FALSE(counters.read(2)[0]);  // the pipe is empty: a failed read is not 0
}

TEST_F(Counters, SayWhichFileAndWhyWhereThereAreNone) {
  const std::string zone = (root_ / "sys/class/powercap/intel-rapl:0").string();
  const std::string perf = (root_ / "sys/bus/event_source/devices/power/type").string();
  EXPECT_EQ(open(refuse).missing_because(), "there is no " + zone + "; there is no " + perf);
  add_zone("intel-rapl:0", "package-0", "");
  EXPECT_EQ(open(refuse).missing_because(),
            zone + "/energy_uj: No such file or directory; there is no " + perf);
  add_perf();
  EXPECT_EQ(open(refuse).missing_because(),
            zone +
                "/energy_uj: No such file or directory; perf_event_open for energy-pkg of CPU 0: "
                "Permission denied (perf_event_paranoid 2)");
  EXPECT_EQ(open(refuse).source(), "");
}

TEST_F(Counters, AreNoSumWhereOneOfTwoPackagesIsClosed) {
  add_zone("intel-rapl:0", "package-0", "1000\n");
  add_zone("intel-rapl:1", "package-1", "");
  EXPECT_TRUE(open(refuse).domains().empty());
}

TEST_F(Counters, SayWhatFailsLater) {
  add_zone("intel-rapl:0", "package-0", "1000\n");
  CpuCounters counters = open(refuse);
  EXPECT_TRUE(counters.read(0)[0]);
  write_file(root_ / "sys/class/powercap/intel-rapl:0/energy_uj", "nonsense\n");
  EXPECT_FALSE(counters.read(1)[0]);
  EXPECT_NE(counters.read_failure().find("energy_uj: it holds no number"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::energy
