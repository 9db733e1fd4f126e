#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "experiment/machine.h"
#include "experiment/run_folder.h"
#include "temp_folder.h"

namespace plimsoll::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> handed_out(const GpuClaim& claim, const AtOnceOptions& jobs) {
  std::vector<std::string> texts;
  for (const auto& gpus : hand_out_gpus(claim, jobs)) texts.push_back(text_of(gpus));
  return texts;
}

TEST(Jobs, GetDifferentGpus) {
  GpuClaim claim{.gpus = gate::selection_of("all"), .locks = {}, .uuids = {"a", "b", "c", "d"}};
  EXPECT_THAT(handed_out(claim, {}), ElementsAre("all"));
  EXPECT_THAT(handed_out(claim, {.at_once = 3}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(handed_out(claim, {.at_once = 2, .gpus_per_job = 2}), ElementsAre("a,b", "c,d"));
  EXPECT_THAT(handed_out(claim, {.gpus_per_job = 1}), ElementsAre("a"));
  expect_error(ErrorKind::usage, {"3 jobs with 2 GPUs each need 6 GPUs, and there are 4"},
               [&] { hand_out_gpus(claim, {.at_once = 3, .gpus_per_job = 2}); });
}

TEST(Jobs, WithoutGpusTheyAreLeftAlone) {
  EXPECT_THAT(handed_out({}, {.at_once = 2}), ElementsAre("", ""));
  EXPECT_THAT(
      handed_out({.gpus = gate::selection_of("none"), .locks = {}, .uuids = {}}, {.at_once = 2}),
      ElementsAre("none", "none"));
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
