#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "experiment/cooldown.h"
#include "experiment/run_folder.h"
#include "experiment/slurm_steps.h"
#include "temp_folder.h"

namespace plimsoll::experiment {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Jobs, GetDifferentGpus) {
  GpuClaim claim{.gpus = "all", .locks = {}, .uuids = {"a", "b", "c", "d"}};
  EXPECT_THAT(hand_out_gpus(claim, {}), ElementsAre("all"));
  EXPECT_THAT(hand_out_gpus(claim, {.at_once = 3}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(hand_out_gpus(claim, {.at_once = 2, .gpus_per_job = 2}), ElementsAre("a,b", "c,d"));
  EXPECT_THAT(hand_out_gpus(claim, {.gpus_per_job = 1}), ElementsAre("a"));
  expect_error(ErrorKind::usage, {"3 jobs with 2 GPUs each need 6 GPUs, and there are 4"},
               [&] { hand_out_gpus(claim, {.at_once = 3, .gpus_per_job = 2}); });
}

TEST(Jobs, WithoutGpusTheyAreLeftAlone) {
  EXPECT_THAT(hand_out_gpus({}, {.at_once = 2}), ElementsAre("", ""));
  EXPECT_THAT(hand_out_gpus({.gpus = "none", .locks = {}, .uuids = {}}, {.at_once = 2}),
              ElementsAre("none", "none"));
}

TEST(SlurmSteps, DivideTheCpusAndTheMemoryOfTheJob) {
  const TempFolder folder;
  std::ofstream(folder / "srun") << "#!/bin/sh\n";
  std::filesystem::permissions(folder / "srun", std::filesystem::perms::owner_all);
  std::map<std::string, std::string> variables = {{"PATH", "/nowhere:" + folder.path().string()},
                                                  {"SLURM_JOB_NUM_NODES", "2"},
                                                  {"SLURM_CPUS_ON_NODE", "8"},
                                                  {"SLURM_MEM_PER_NODE", "1000"}};
  Host host;
  host.variable = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  EXPECT_FALSE(slurm_steps(4, {}, host)) << "no job";
  variables["SLURM_JOB_ID"] = "7";
  const auto steps = slurm_steps(4, {}, host);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->cpus, 4);
  EXPECT_EQ(steps->memory_bytes, 500 * kMiB);
  EXPECT_EQ(slurm_steps(1, {}, host)->cpus, 8) << "a step stays on one node";
  for (const char* word : {"--exclusive", "--cpus-per-task=4", "--mem=500M"}) {
    EXPECT_THAT(step_words(*steps, {}), Contains(word));
  }
  EXPECT_EQ(step_words(*steps, {}).front(), (folder / "srun").string());
  EXPECT_THAT(step_words(*steps, 200 * kMiB), Contains("--mem=264M"));
  variables["SLURM_GPUS_ON_NODE"] = "4";
  EXPECT_THAT(step_words(*slurm_steps(4, 2, host), {}), Contains("--gpus=2"));
  variables["PATH"] = "/nowhere";
  EXPECT_FALSE(slurm_steps(4, {}, host)) << "no srun";
}

TEST(Cooldown, LastsUntilTheGpusAreAsTheyWereWhenTheBatchBegan) {
  const std::vector<GpuCalm> began = {{.index = 0, .celsius = 40, .watts = 60},
                                      {.index = 1, .celsius = {}, .watts = {}}};
  EXPECT_EQ(unrest(began, began), "");
  EXPECT_EQ(unrest(began, {{.index = 0, .celsius = 42, .watts = 63}}), "");
  EXPECT_THAT(unrest(began, {{.index = 0, .celsius = 43, .watts = 60}}),
              HasSubstr("GPU 0 has 43 °C, 40 °C when the batch began"));
  EXPECT_THAT(unrest(began, {{.index = 0, .celsius = 40, .watts = 64}}), HasSubstr("64 W, 60 W"));
  EXPECT_EQ(unrest(began, {{.index = 1, .celsius = 90, .watts = 300}}), "") << "nothing is known";
  EXPECT_EQ(to_text(calm_from(to_text(began))), to_text(began));
  EXPECT_TRUE(calm_from("nonsense").empty());
}

}  // namespace
}  // namespace plimsoll::experiment
