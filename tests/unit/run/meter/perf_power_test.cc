#include <gtest/gtest.h>

#include "meter/cpu_power.h"
#include "temp_folder.h"

namespace plimsoll::meter {
namespace {

TEST(CpuList, OfAnyNumbersEnds) {
  EXPECT_EQ(parse_cpu_list("0,28-30"), (std::vector<int>{0, 28, 29, 30}));
  EXPECT_EQ(parse_cpu_list("0-18446744073709551615").size(), 8192);
  EXPECT_EQ(parse_cpu_list("18446744073709551615").size(), 0);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "0-8191,";
  EXPECT_EQ(parse_cpu_list(many).size(), 8192);
}

TEST(PerfPower, ReadsListsOfCpus) {
  EXPECT_EQ(parse_cpu_list("0\n"), std::vector<int>({0}));
  EXPECT_EQ(parse_cpu_list("0,28-30\n"), std::vector<int>({0, 28, 29, 30}));
  EXPECT_TRUE(parse_cpu_list("").empty());
}

TEST(PerfPower, HasOneEventForEachPackage) {
  const TempFolder root;
  const auto device = root / "sys/bus/event_source/devices/power";
  const Host host{.root = root.path(), .variable = {}};
  EXPECT_NE(power_events(host).missing_because.find("devices/power/type"), std::string::npos);
  write_file(device / "type", "12\n");
  EXPECT_NE(power_events(host).missing_because.find("has no energy-pkg"), std::string::npos);
  write_file(device / "cpumask", "0,8\n");
  write_file(device / "events/energy-pkg", "event=0x02\n");
  write_file(device / "events/energy-pkg.scale", "2.3283064365386962890625e-10\n");
  write_file(device / "events/energy-psys", "event=0x05\n");
  write_file(device / "events/energy-psys.scale", "1\n");
  const PowerEvents found = power_events(host);
  ASSERT_EQ(found.events.size(), 2U);
  EXPECT_EQ(found.events[1].cpu, 8);
  EXPECT_EQ(found.events[1].type, 12U);
  EXPECT_EQ(found.events[1].config, 2U);
  EXPECT_DOUBLE_EQ(found.events[1].joules_per_count, 0x1p-32);
}

}  // namespace
}  // namespace plimsoll::meter
