// Neighbourhoods that are sampled together are the ones that a Sampler draws one by one.
#include "sample/joint_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "drawn.h"
#include "graph/store.h"
#include "io/lined_file.h"
#include "sample/sampler.h"
#include "small_graph.h"
#include "temp_folder.h"

namespace plimsoll::sample {
namespace {

namespace fs = std::filesystem;

using Seeds = std::vector<uint32_t>;

constexpr uint32_t kWholeList = UINT32_MAX;
constexpr uint64_t kLineStep = io::kLineStepBytes;
constexpr uint64_t kTinyRoom = 4 * kKiB;
constexpr io::ReadOptions kSmallReads = {.depth = 8, .room_bytes = 64 * kKiB};

// A line of either file cuts what belongs to the hub: its offsets and its list.
constexpr uint32_t kHub = kLineStep / sizeof(uint64_t) - 1;
constexpr uint32_t kHubDegree = 6000;  // more than LABOR reads as a whole
constexpr uint32_t kFirstLinked = kHub - 3000;
constexpr uint32_t kJointNodes = kHub + 3000;

// Nodes from kFirstLinked on have neighbours among themselves. Node 0, which is none of them, has
// as many as it takes for the line to be in the middle of the hub's list.
Lists joint_lists() {
  const RandomStream random(21, 0);
  uint64_t draws = 0;
  const auto draw = [&](uint32_t bound) {
    return static_cast<uint32_t>(below(random.at(draws++), bound));
  };
  Lists lists(kJointNodes);
  uint64_t before_hub = 0;
  for (uint32_t node = kFirstLinked; node < kJointNodes; ++node) {
    uint32_t degree = draw(6);
    if (node % 100 == 0) degree = 50 + draw(200);
    if (node == kHub) degree = kHubDegree;
    if (node < kHub) before_hub += degree;
    for (uint32_t i = 0; i < degree; ++i) {
      lists[node].push_back(kFirstLinked + draw(kJointNodes - kFirstLinked));
    }
  }
  lists[0].assign(kLineStep / sizeof(uint32_t) - kHubDegree / 2 - before_hub, 1);
  return lists;
}

// For each draft the hub, the nodes beside it, the last one, one with a long list and a few more.
std::vector<Seeds> joint_seeds(uint32_t drafts) {
  std::vector<Seeds> seeds;
  for (uint32_t i = 0; i < drafts; ++i) {
    seeds.push_back({kHub - 1, kHub, kHub + 1, kJointNodes - 1, (kHub / 100 - i) * 100});
    for (uint32_t node = kFirstLinked + 37 * i; node < kJointNodes; node += 900 + i) {
      seeds.back().push_back(node);
    }
  }
  return seeds;
}

Drawn copy_known(const Neighborhood& neighborhood, const SamplerOptions& options) {
  Drawn drawn = copy_of(neighborhood, options.all_degrees);
  // Of {5, 0} only the seeds' degrees are known.
  if (!options.all_degrees && options.fanout.back() == 0) drawn.degrees.resize(drawn.seeds);
  return drawn;
}

// Drafts of these seeds; the key of the first is `key`, and each has another.
class Drafts {
 public:
  Drafts(memory::Ledger& ledger, const SamplerOptions& options, const std::vector<Seeds>& seeds,
         uint64_t key = 0)
      : options_(options) {
    for (const Seeds& nodes : seeds) {
      Neighborhood& out = outs_.emplace_back(ledger, options.fanout.size());
      out.seeds = static_cast<uint32_t>(nodes.size());
      out.nodes.renew(nodes.size());
      std::ranges::copy(nodes, out.nodes.data());
      drafts_.emplace_back(ledger).out = &out;
    }
    set_key(key);
  }
  void set_key(uint64_t key) {
    for (Draft& draft : drafts_) draft.key = key++;
  }
  std::vector<Drawn> sample(JointSampler& joint) {
    joint.sample(std::span(drafts_));
    std::vector<Drawn> drawn;
    for (const Neighborhood& out : outs_) drawn.push_back(copy_known(out, options_));
    return drawn;
  }

 private:
  const SamplerOptions options_;
  std::deque<Neighborhood> outs_;
  std::vector<Draft> drafts_;
};

class JointSamplerTest : public testing::Test {
 protected:
  void write(const Lists& lists) { write_store(folder_, {.lists = lists, .feature_columns = 1}); }
  Topology load(const TopologyLines& lines) {
    return load_topology(graph::open(folder_), ledger_, lines, 2, [](uint64_t) {});
  }
  static JointSampler::Options together(const SamplerOptions& sampling, uint64_t room_bytes,
                                        unsigned threads) {
    return {.sampling = sampling,
            .reading = {.reading = kSmallReads, .threads = 2},
            .threads = threads,
            .room_bytes = room_bytes};
  }
  std::vector<Drawn> draw_one_by_one(const Topology& topology, const SamplerOptions& options,
                                     const std::vector<Seeds>& seeds, uint64_t key = 0) {
    Sampler sampler(topology, options, ledger_);
    std::vector<Drawn> drawn;
    for (const Seeds& nodes : seeds) {
      Neighborhood out(ledger_, options.fanout.size());
      sampler.sample(nodes, key++, out);
      drawn.push_back(copy_known(out, options));
    }
    return drawn;
  }

  TempFolder temp_;
  fs::path folder_ = temp_ / "store";
  memory::Ledger ledger_{kGiB};
};

TEST_F(JointSamplerTest, DrawsAsASamplerWhereverTheLinesAre) {
  const Lists lists = joint_lists();
  write(lists);
  std::vector<Topology> topologies;
  topologies.push_back(topology_of(lists, ledger_));
  for (const TopologyLines& lines : {TopologyLines{0, 0}, TopologyLines{kLineStep, kLineStep},
                                     TopologyLines{0, UINT64_MAX}, TopologyLines{UINT64_MAX, 0}}) {
    topologies.push_back(load(lines));
  }
  constexpr std::array<uint32_t, 3> kDrafts = {1, 2, 7};
  const std::vector<Seeds> seeds = joint_seeds(kDrafts.back());
  uint64_t run = 0;  // not every setting with every other: that would take minutes
  for (const auto draw : {recipe::Draw::uniform, recipe::Draw::labor}) {
    for (const auto& fanout : std::vector<Seeds>{
             {3, 2}, {15, 10, 5}, {49}, {100, 49}, {kWholeList}, {3, kWholeList}, {5, 0}}) {
      for (const bool all_degrees : {false, true}) {
        const SamplerOptions options = {
            .fanout = fanout, .all_degrees = all_degrees, .draw = draw, .reading = kSmallReads};
        const auto expected = draw_one_by_one(topologies[0], options, seeds);
        for (const Topology& topology : topologies) {
          const uint32_t count = kDrafts.at(run % 3);
          const unsigned threads = run / 3 % 2 == 0 ? 1 : 3;
          const uint64_t room_bytes = run / 6 % 2 == 0 ? kTinyRoom : kMiB;
          SCOPED_TRACE("run " + std::to_string(run++));
          JointSampler joint(topology, together(options, room_bytes, threads), ledger_);
          const auto drawn = Drafts(ledger_, options, joint_seeds(count)).sample(joint);
          ASSERT_TRUE(std::ranges::equal(drawn, std::span(expected).first(count)));
        }
      }
    }
  }
}

TEST_F(JointSamplerTest, DrawsForEachNodeOnceAsASamplerDoes) {
  const Lists lists = joint_lists();
  write(lists);
  const Topology resident = topology_of(lists, ledger_);
  const Topology cut = load({kLineStep, kLineStep});
  for (const auto& fanout : std::vector<Seeds>{{15, 10, 5}, {5, 0, 3}, {3, kWholeList}}) {
    const SamplerOptions options = {
        .fanout = fanout, .expansion = Expansion::once, .reading = kSmallReads};
    const auto expected = draw_one_by_one(resident, options, joint_seeds(3));
    JointSampler joint(cut, together(options, kTinyRoom, 2), ledger_);
    EXPECT_EQ(Drafts(ledger_, options, joint_seeds(3)).sample(joint), expected);
  }
}

// More sectors of one list than fit into the room: every draft picks others.
TEST_F(JointSamplerTest, DrawsWhereManyDraftsPickFromOneLongList) {
  Lists lists(60'000);
  lists[0] = every(1, 0, 60'000);
  write(lists);
  const Topology topology = load({0, 0});
  const SamplerOptions options = {.fanout = {4}, .reading = kSmallReads};
  const std::vector<Seeds> seeds(7, Seeds{0});
  JointSampler joint(topology, together(options, kTinyRoom, 2), ledger_);
  EXPECT_EQ(Drafts(ledger_, options, seeds).sample(joint),
            draw_one_by_one(topology, options, seeds));
}

TEST_F(JointSamplerTest, DrawsAgainWithTheSameDraftsAndWithOthers) {
  const Lists lists = random_lists(3000, 20, 4);
  write(lists);
  const Topology resident = topology_of(lists, ledger_);
  const Topology lined = load({});
  const SamplerOptions options = {.fanout = {10, 5}, .all_degrees = true, .reading = kSmallReads};
  JointSampler joint(lined, together(options, kTinyRoom, 2), ledger_);
  const std::vector<Seeds> seeds = {{0, 5, 2999}, every(111, 1, 3000), {8}};
  Drafts drafts(ledger_, options, seeds);
  for (uint64_t key = 0; key < 6; ++key) {
    SCOPED_TRACE(key);
    drafts.set_key(key);
    EXPECT_EQ(drafts.sample(joint), draw_one_by_one(resident, options, seeds, key));
    const std::vector<Seeds> few = {{7}, {1, 0}};
    EXPECT_EQ(Drafts(ledger_, options, few, key).sample(joint),
              draw_one_by_one(resident, options, few, key));
    if (key == 1) lined.neighbors().lower_by(UINT64_MAX);
    if (key == 2) lined.offsets().lower_by(UINT64_MAX);
    if (key == 4) joint.release();
  }
}

TEST_F(JointSamplerTest, TakesDraftsWithoutSeedsAndNoDrafts) {
  write({{1, 2}, {0}, {}});
  const Topology topology = load({0, 0});
  const SamplerOptions options = {.fanout = {3, 2}, .all_degrees = true, .reading = kSmallReads};
  const std::vector<Seeds> seeds = {{}, {2}, {}};
  JointSampler joint(topology, together(options, kTinyRoom, 3), ledger_);
  EXPECT_EQ(Drafts(ledger_, options, seeds).sample(joint),
            draw_one_by_one(topology, options, seeds));
  EXPECT_TRUE(Drafts(ledger_, options, {}).sample(joint).empty());
}

TEST_F(JointSamplerTest, FindsDamageWhenItIsRead) {
  const SamplerOptions options = {.fanout = {kWholeList}, .reading = kSmallReads};
  const Lists lists = {{1, 2}, {0}, {0, 1, 3}, {}, {2}};  // from 0, 2, 3, 6, 6 to 7
  write(lists);
  const Topology topology = load({0, 0});
  JointSampler joint(topology, together(options, kTinyRoom, 2), ledger_);
  const auto sample = [&](const std::vector<Seeds>& seeds) {
    return Drafts(ledger_, options, seeds).sample(joint);
  };
  const std::vector<Seeds> sound = {{0}, {1}};
  const auto expected = draw_one_by_one(topology_of(lists, ledger_), options, sound);
  const auto expect_damage = [&](uint32_t seed, const fs::path& file, const std::string& what) {
    expect_error(ErrorKind::store, {file.string(), what}, [&] { sample({{0}, {seed}}); });
    EXPECT_EQ(sample(sound), expected);
  };
  const fs::path neighbors = folder_ / "neighbors.u32";
  overwrite<uint32_t>(neighbors, 4, 5);
  expect_damage(2, neighbors, "neighbour 5 of a graph of 5 nodes");
  overwrite<uint32_t>(neighbors, 4, UINT32_MAX);
  expect_damage(2, neighbors, "neighbour 4294967295 of a graph of 5 nodes");
  overwrite<uint64_t>(folder_ / "offsets.u64", 5, 8);
  expect_damage(4, folder_ / "offsets.u64", "list 4 goes from 6 to 8 of 7");
}

}  // namespace
}  // namespace plimsoll::sample
