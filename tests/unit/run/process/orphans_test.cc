#include "process/orphans.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace plimsoll::process {
namespace {

Orphan orphan_of(pid_t pid, char state) {
  Orphan orphan;
  orphan.process.pid = pid;
  orphan.process.state = state;
  orphan.command = "python3 train.py";
  orphan.run = "run_1";
  return orphan;
}

TEST(Orphans, AreShownWithTheirGpuMemory) {
  const std::vector orphans = {orphan_of(11, 'S'), orphan_of(12, 'T'), orphan_of(13, 'S')};
  const HeldGpuMemory gpus = {{11, uint64_t{3} << 30}, {12, std::nullopt}};
  const std::string text = describe(orphans, gpus);
  EXPECT_NE(text.find("3.0 GiB  run_1  python3 train.py\n"), std::string::npos) << text;
  EXPECT_NE(text.find("open  run_1  (stopped) python3 train.py\n"), std::string::npos) << text;
  EXPECT_NE(text.find("-  run_1  python3 train.py\n"), std::string::npos) << text;
  const auto json = to_json(orphans, gpus);
  EXPECT_EQ(json[0]["gpu_bytes"], uint64_t{3} << 30);
  EXPECT_TRUE(json[1]["gpu_bytes"].is_null());
  EXPECT_EQ(json[1]["stopped"], true);
  EXPECT_TRUE(json[2]["gpu_bytes"].is_null());
}

}  // namespace
}  // namespace plimsoll::process
