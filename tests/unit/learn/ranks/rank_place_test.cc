#include "ranks/rank_place.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace plimsoll::ranks {
namespace {

using Map = std::map<std::string, std::string>;

RankPlace place_in(const Map& variables, unsigned asked = 0) {
  return find_place(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      },
      asked);
}

// The message of the Error{usage}; empty if there is none.
std::string refusal_of(const Map& variables, unsigned asked = 0) {
  try {
    place_in(variables, asked);
  } catch (const Error& error) {
    EXPECT_EQ(name(error.kind()), name(ErrorKind::usage));
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const Map kTorchrun = {{"RANK", "3"},          {"WORLD_SIZE", "8"},
                       {"LOCAL_RANK", "1"},    {"LOCAL_WORLD_SIZE", "2"},
                       {"MASTER_ADDR", "n01"}, {"MASTER_PORT", "29500"},
                       {"SLURM_PROCID", "1"},  {"SLURM_NTASKS", "4"},
                       {"SLURM_LOCALID", "0"}, {"SLURM_JOB_ID", "77"},
                       {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_NODELIST", "n[01-04]"}};

const Map kSrun = {{"SLURM_PROCID", "5"},  {"SLURM_NTASKS", "8"},
                   {"SLURM_LOCALID", "1"}, {"SLURM_JOB_NODELIST", "gpu[03-05,9],login1"},
                   {"SLURM_JOB_ID", "41"}, {"SLURM_STEP_ID", "2"}};

Map with(Map map, const std::string& name, const std::string& value) {
  map[name] = value;
  return map;
}
Map without(Map map, const std::string& name) {
  map.erase(name);
  return map;
}

TEST(RankPlace, IsOneProcessWithoutVariablesAndWithoutRanks) {
  for (const unsigned asked : {0U, 1U}) {
    const RankPlace place = place_in({}, asked);
    EXPECT_EQ(place.source, RankSource::none);
    EXPECT_EQ(place.size, 1U);
  }
}

TEST(RankPlace, ComesFromTheOptionIfThereAreNoVariables) {
  const RankPlace place = place_in({}, 4);
  EXPECT_EQ(place.source, RankSource::option);
  EXPECT_EQ(place.size, 4U);
}

TEST(RankPlace, ComesFromTorchrunEvenInsideOfSlurm) {
  const RankPlace place = place_in(kTorchrun);
  EXPECT_EQ(place.source, RankSource::torchrun);
  EXPECT_EQ(place.rank, 3U);
  EXPECT_EQ(place.size, 8U);
  EXPECT_EQ(place.local_rank, 1U);
  EXPECT_EQ(place.address, "n01");
  EXPECT_EQ(place.port, 29500);
  EXPECT_FALSE(place.agent_serves);
  EXPECT_TRUE(place_in(with(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE", "True")).agent_serves);
}

TEST(RankPlace, HasLocalRankZeroIfTorchrunGivesNone) {
  EXPECT_EQ(place_in(without(without(kTorchrun, "LOCAL_RANK"), "LOCAL_WORLD_SIZE")).local_rank, 0U);
}

TEST(RankPlace, ComesFromSlurmInAStepOfSrun) {
  const RankPlace place = place_in(kSrun);
  EXPECT_EQ(place.source, RankSource::slurm);
  EXPECT_EQ(place.rank, 5U);
  EXPECT_EQ(place.size, 8U);
  EXPECT_EQ(place.local_rank, 1U);
  EXPECT_EQ(place.address, "gpu03");
  EXPECT_EQ(place.port, 10'000 + 41 + 2);
}

TEST(RankPlace, MeetsInSlurmWhereTheUserSays) {
  const RankPlace place =
      place_in(with(with(kSrun, "MASTER_ADDR", "10.0.0.7"), "MASTER_PORT", "4000"));
  EXPECT_EQ(place.address, "10.0.0.7");
  EXPECT_EQ(place.port, 4000);
}

TEST(RankPlace, TakesTheStepsNumberOfTasksBeforeTheJobs) {
  EXPECT_EQ(place_in(with(kSrun, "SLURM_STEP_NUM_TASKS", "6")).size, 6U);
}

TEST(RankPlace, IsOneProcessInABatchScriptAndInAnInteractiveStep) {
  EXPECT_EQ(place_in(without(kSrun, "SLURM_STEP_ID")).source, RankSource::none);
  EXPECT_EQ(place_in(with(kSrun, "SLURM_STEP_ID", "4294967290")).source, RankSource::none);
  EXPECT_EQ(place_in(without(kSrun, "SLURM_STEP_ID"), 4).source, RankSource::option);
}

TEST(RankPlace, MayStartRanksInAStepWithOneTask) {
  const Map first = with(with(kSrun, "SLURM_PROCID", "0"), "SLURM_LOCALID", "0");
  const Map one = with(first, "SLURM_NTASKS", "1");
  EXPECT_EQ(place_in(one).source, RankSource::none);
  EXPECT_EQ(place_in(one, 2).source, RankSource::option);
}

TEST(RankPlace, NamesTheVariablesThatAreMissing) {
  for (const char* missing : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    const std::string text = refusal_of(without(kTorchrun, missing));
    EXPECT_TRUE(says(text, std::string(missing) + " missing")) << text;
  }
  EXPECT_TRUE(says(refusal_of({{"LOCAL_RANK", "1"}}), "RANK, WORLD_SIZE"));
  for (const char* missing :
       {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_JOB_NODELIST"}) {
    const std::string text = refusal_of(without(kSrun, missing));
    EXPECT_TRUE(says(text, std::string(missing) + " missing")) << text;
  }
}

TEST(RankPlace, NamesTheVariablesThatContradictEachOther) {
  EXPECT_TRUE(says(refusal_of(with(kTorchrun, "RANK", "8")), "RANK=8 and WORLD_SIZE=8"));
  EXPECT_TRUE(says(refusal_of(with(kSrun, "SLURM_PROCID", "8")), "SLURM_PROCID=8"));
  EXPECT_TRUE(says(refusal_of(with(kTorchrun, "LOCAL_RANK", "2")), "LOCAL_WORLD_SIZE=2"));
  EXPECT_TRUE(says(refusal_of(with(kTorchrun, "LOCAL_WORLD_SIZE", "9")), "WORLD_SIZE=8"));
  const Map no_local_size = without(kTorchrun, "LOCAL_WORLD_SIZE");
  EXPECT_TRUE(says(refusal_of(with(no_local_size, "LOCAL_RANK", "4")), "RANK=3 and LOCAL_RANK=4"));
  EXPECT_TRUE(says(refusal_of(with(kSrun, "SLURM_LOCALID", "6")), "SLURM_LOCALID=6"));
}

TEST(RankPlace, RefusesTorchrunsVariablesThatContradictSlurms) {
  const Map with_torchrun = {
      {"RANK", "5"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "n01"}, {"MASTER_PORT", "29500"}};
  Map both = kSrun;
  both.insert(with_torchrun.begin(), with_torchrun.end());
  EXPECT_EQ(place_in(both).source, RankSource::torchrun);
  const std::string text = refusal_of(with(both, "RANK", "0"));
  EXPECT_TRUE(says(text, "RANK=0, WORLD_SIZE=8")) << text;
  EXPECT_TRUE(says(text, "SLURM_PROCID=5, SLURM_NTASKS=8")) << text;
  EXPECT_NE(refusal_of(with(with(both, "RANK", "0"), "WORLD_SIZE", "1")), "");
  // A launcher in each task.
  EXPECT_EQ(place_in(with(both, "WORLD_SIZE", "16")).size, 16U);
  EXPECT_EQ(place_in(with(with(both, "RANK", "0"), "TORCHELASTIC_RUN_ID", "x")).rank, 0U);
}

TEST(RankPlace, TakesALocalRankBesideSlurmsVariablesIfTheyAgree) {
  EXPECT_EQ(place_in(with(kSrun, "LOCAL_RANK", "1")).source, RankSource::slurm);
  EXPECT_TRUE(says(refusal_of(with(kSrun, "LOCAL_RANK", "0")), "SLURM_LOCALID=1 and LOCAL_RANK=0"));
}

TEST(RankPlace, RefusesAnAddressThatIsNone) {
  EXPECT_TRUE(says(refusal_of(with(kTorchrun, "MASTER_PORT", "0")), "MASTER_PORT=0"));
  EXPECT_TRUE(says(refusal_of(with(kTorchrun, "MASTER_ADDR", "")), "MASTER_ADDR="));
  EXPECT_TRUE(says(refusal_of(with(kSrun, "MASTER_ADDR", "")), "MASTER_ADDR="));
}

TEST(RankPlace, RefusesVariablesThatAreNoNumbers) {
  EXPECT_TRUE(says(refusal_of(with(kTorchrun, "RANK", "three")), "RANK=three"));
  EXPECT_TRUE(says(refusal_of(with(kTorchrun, "RANK", "-1")), "RANK=-1"));
  EXPECT_TRUE(says(refusal_of(with(kTorchrun, "WORLD_SIZE", "")), "WORLD_SIZE="));
  EXPECT_TRUE(says(refusal_of(with(kTorchrun, "MASTER_PORT", "65536")), "MASTER_PORT=65536"));
  EXPECT_TRUE(says(refusal_of(with(kSrun, "SLURM_JOB_NODELIST", "a[")), "SLURM_JOB_NODELIST=a["));
  EXPECT_TRUE(says(refusal_of(with(kSrun, "SLURM_STEP_ID", "x")), "SLURM_STEP_ID=x"));
}

TEST(RankPlace, RefusesAnotherNumberOfRanksThanTheVariables) {
  EXPECT_EQ(place_in(kTorchrun, 8).size, 8U);
  EXPECT_TRUE(says(refusal_of(kTorchrun, 4), "--ranks 4 and WORLD_SIZE=8"));
  EXPECT_TRUE(says(refusal_of(kSrun, 4), "--ranks 4 and SLURM_NTASKS=8"));
}

TEST(RankPlace, KnowsThatTheLauncherStartedIt) {
  EXPECT_EQ(place_in(with(kTorchrun, kLauncherVariable, "8"), 8).source, RankSource::launcher);
}

TEST(NodeList, GivesItsFirstHost) {
  EXPECT_EQ(first_host("n1"), "n1");
  EXPECT_EQ(first_host("n1,n2"), "n1");
  EXPECT_EQ(first_host("gpu[03-05,9],login1"), "gpu03");
  EXPECT_EQ(first_host("gpu[7,9]"), "gpu7");
  EXPECT_EQ(first_host("rack[2-3]node[010-012]"), "rack2node010");
  EXPECT_EQ(first_host("a[1-2]-ib.cluster"), "a1-ib.cluster");
}

TEST(NodeList, RefusesWhatIsNoList) {
  for (const char* text : {"", ",", "n[", "n[]", "n[x]", "n]1", "n 1"}) {
    EXPECT_EQ(first_host(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace plimsoll::ranks
