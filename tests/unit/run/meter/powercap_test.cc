#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "meter/cpu_power.h"
#include "meter/fake_powercap.h"
#include "temp_folder.h"

namespace plimsoll::meter {
namespace {

class Powercap : public testing::Test {
 protected:
  void add_zone(const std::string& folder, const std::string& name, const std::string& energy) {
    meter::add_zone(root_, folder, name, energy);
  }
  std::vector<EnergyZone> zones() const {
    return energy_zones({.root = root_.path(), .variable = {}});
  }

  TempFolder root_;
};

TEST_F(Powercap, HasNoZonesWhereTheKernelShowsNone) { EXPECT_TRUE(zones().empty()); }

TEST_F(Powercap, CountsPackagesAndTheirMemoryOnly) {
  add_zone("intel-rapl:0", "package-0", "1000\n");
  add_zone("intel-rapl:0:0", "core", "500\n");
  add_zone("intel-rapl:0:1", "dram", "200\n");
  add_zone("intel-rapl:1", "psys", "9000\n");
  add_zone("intel-rapl-mmio:0", "package-0", "1000\n");
  const auto found = zones();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "package-0");
  EXPECT_EQ(found[0].microjoules, 1000U);
  EXPECT_EQ(found[0].range_microjoules, 262143328850U);
  EXPECT_EQ(found[1].name, "dram");
}

TEST_F(Powercap, IsWhereTheEnvironmentSays) {
  const auto elsewhere = root_ / "elsewhere";
  EXPECT_EQ(
      powercap_folder({.root = root_.path(),
                       .variable = [&](const std::string& name) -> std::optional<std::string> {
                         EXPECT_EQ(name, "PLIMSOLL_POWERCAP");
                         return elsewhere.string();
                       }}),
      elsewhere);
  EXPECT_EQ(powercap_folder({.root = root_.path(), .variable = {}}), root_ / "sys/class/powercap");
}

TEST_F(Powercap, SaysWhyACounterCannotBeRead) {
  add_zone("intel-rapl:0", "package-0", "");
  add_zone("intel-rapl:1", "package-1", "nonsense\n");
  const auto found = zones();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_FALSE(found[0].microjoules);
  EXPECT_EQ(found[0].unreadable_because, "No such file or directory");
  EXPECT_EQ(found[1].unreadable_because, "it holds no number");
}

TEST(EnergyBetween, GoesOverTheEndOfTheCounter) {
  EXPECT_EQ(energy_between(100, 150, 1000), 50U);
  EXPECT_EQ(energy_between(900, 50, 1000), 150U);
}

}  // namespace
}  // namespace plimsoll::meter
