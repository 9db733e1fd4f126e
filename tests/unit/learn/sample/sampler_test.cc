#include "sample/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "drawn.h"
#include "small_graph.h"
#include "temp_folder.h"

namespace plimsoll::sample {
namespace {

constexpr uint32_t kAll = UINT32_MAX;

// A graph with a sampler and what it draws into.
struct Sampling {
  Sampling(const Lists& lists, const std::vector<uint32_t>& fanout,
           recipe::Draw draw = recipe::Draw::uniform)
      : topology(topology_of(lists, ledger)),
        sampler(topology, {.fanout = fanout, .draw = draw}, ledger),
        neighborhood(ledger, fanout.size()) {}

  Drawn draw(const std::vector<uint32_t>& seeds, uint64_t key) {
    sampler.sample(seeds, key, neighborhood);
    return copy_of(neighborhood);
  }

  memory::Ledger ledger{kGiB};
  Topology topology;
  Sampler sampler;
  Neighborhood neighborhood;
};

// What every hop promises. The lists must have no doubles, so that a place drawn twice shows.
void expect_sound_hop(const Lists& lists, const Drawn& drawn, size_t h, uint32_t fanout,
                      uint32_t destinations) {
  const auto& [offsets, indices] = drawn.hops[h];
  ASSERT_EQ(offsets.size(), uint64_t{destinations} + 1);
  ASSERT_EQ(offsets.front(), 0U);
  ASSERT_EQ(offsets.back(), indices.size());
  uint32_t met = destinations;  // numbers are given in the order of meeting
  for (uint32_t i = 0; i < destinations; ++i) {
    const auto& list = lists[drawn.nodes[i]];
    ASSERT_EQ(offsets[i + 1] - offsets[i], std::min<uint64_t>(fanout, list.size()));
    std::set<uint32_t> neighbors;
    for (uint32_t e = offsets[i]; e < offsets[i + 1]; ++e) {
      ASSERT_LE(indices[e], met);
      if (indices[e] == met) ++met;
      const uint32_t neighbor = drawn.nodes[indices[e]];
      ASSERT_TRUE(std::ranges::binary_search(list, neighbor))
          << neighbor << " is no neighbour of " << drawn.nodes[i];
      ASSERT_TRUE(neighbors.insert(neighbor).second) << neighbor << " was drawn twice";
    }
  }
  const bool last = h + 1 == drawn.hops.size();
  const uint64_t sources = last ? drawn.nodes.size() : drawn.hops[h + 1].offsets.size() - 1;
  ASSERT_EQ(sources, met);
}

void expect_sound(const Lists& lists, const std::vector<uint32_t>& seeds,
                  const std::vector<uint32_t>& fanout, const Drawn& drawn) {
  ASSERT_EQ(drawn.seeds, seeds.size());
  ASSERT_GE(drawn.nodes.size(), seeds.size());
  EXPECT_TRUE(std::ranges::equal(seeds, std::span(drawn.nodes).first(seeds.size())));
  EXPECT_EQ(std::set(drawn.nodes.begin(), drawn.nodes.end()).size(), drawn.nodes.size());
  ASSERT_EQ(drawn.hops.size(), fanout.size());
  for (size_t i = 0; i < drawn.degrees.size(); ++i) {
    ASSERT_EQ(drawn.degrees[i], lists[drawn.nodes[i]].size());
  }
  auto destinations = static_cast<uint32_t>(seeds.size());
  for (size_t h = 0; h < fanout.size(); ++h) {
    ASSERT_NO_FATAL_FAILURE(expect_sound_hop(lists, drawn, h, fanout[h], destinations));
    if (h + 1 < fanout.size())
      destinations = static_cast<uint32_t>(drawn.hops[h + 1].offsets.size() - 1);
  }
}

class SamplerOfFanout : public testing::TestWithParam<std::vector<uint32_t>> {};

TEST_P(SamplerOfFanout, DrawsRealEdgesOnceAndAsManyAsItCan) {
  const Lists lists = random_lists(3000, 300, 2);
  for (const auto draw : {recipe::Draw::uniform, recipe::Draw::labor}) {
    Sampling sampling(lists, GetParam(), draw);
    for (uint64_t key = 0; key < 5; ++key) {
      const auto seeds = every(97, static_cast<uint32_t>(key), 3000);
      ASSERT_NO_FATAL_FAILURE(expect_sound(lists, seeds, GetParam(), sampling.draw(seeds, key)));
    }
    // More seeds than a group, in no order, and a single one.
    auto seeds = every(13, 0, 3000);
    std::ranges::reverse(seeds);
    ASSERT_NO_FATAL_FAILURE(expect_sound(lists, seeds, GetParam(), sampling.draw(seeds, 9)));
    ASSERT_NO_FATAL_FAILURE(expect_sound(lists, {0}, GetParam(), sampling.draw({0}, 9)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fanouts, SamplerOfFanout,
    testing::Values(std::vector<uint32_t>{}, std::vector<uint32_t>{1},
                    std::vector<uint32_t>{15, 10, 5}, std::vector<uint32_t>{2, 2, 2, 2},
                    std::vector<uint32_t>{48}, std::vector<uint32_t>{49},
                    std::vector<uint32_t>{64, 3}, std::vector<uint32_t>{100, 49},
                    std::vector<uint32_t>{200, 2}, std::vector<uint32_t>{kAll},
                    std::vector<uint32_t>{3, kAll}, std::vector<uint32_t>{kAll, 60}),
    [](const auto& param) {
      std::string name = "Hops";
      for (const uint32_t fanout : param.param) {
        name += 'x';
        name += fanout == kAll ? "All" : std::to_string(fanout);
      }
      return name;
    });

TEST(Sampler, TakesAListAsItStandsWhereTheFanoutReaches) {
  const Lists lists = random_lists(500, 20, 3);
  for (const uint32_t fanout : {kAll, 499U}) {
    Sampling sampling(lists, {fanout});
    const Drawn drawn = sampling.draw(every(1, 0, 500), 1);
    for (uint32_t node = 0; node < 500; ++node) {
      const auto& [offsets, indices] = drawn.hops[0];
      ASSERT_EQ(offsets[node + 1] - offsets[node], lists[node].size());
      for (uint32_t i = 0; i < lists[node].size(); ++i) {
        ASSERT_EQ(drawn.nodes[indices[offsets[node] + i]], lists[node][i]);
      }
    }
  }
}

TEST(Sampler, DrawsEachOfTwoEdgesToTheSameNeighbour) {
  const Lists lists = {{1, 1, 1, 2}, {}, {}};
  Sampling sampling(lists, {3});
  std::map<uint32_t, int> most;
  for (uint64_t key = 0; key < 50; ++key) {
    const Drawn drawn = sampling.draw({0}, key);
    ASSERT_EQ(drawn.hops[0].indices.size(), 3U);
    std::map<uint32_t, int> count;
    for (const uint32_t index : drawn.hops[0].indices) ++count[drawn.nodes[index]];
    for (const auto& [node, times] : count) most[node] = std::max(most[node], times);
  }
  EXPECT_EQ(most[1], 3);
  EXPECT_EQ(most[2], 1);
}

TEST(Sampler, ReachesNobodyFromNodesWithoutNeighbours) {
  const Lists lists = {{}, {}, {0, 3}, {}};
  Sampling sampling(lists, {5, 5});
  const Drawn lonely = sampling.draw({0, 1}, 1);
  EXPECT_EQ(lonely.nodes, (std::vector<uint32_t>{0, 1}));
  for (const auto& hop : lonely.hops) {
    EXPECT_EQ(hop.offsets, (std::vector<uint32_t>{0, 0, 0}));
    EXPECT_TRUE(hop.indices.empty());
  }
  const Drawn among = sampling.draw({1, 2, 0}, 1);
  EXPECT_EQ(among.nodes, (std::vector<uint32_t>{1, 2, 0, 3}));
  EXPECT_EQ(among.hops[0].offsets, (std::vector<uint32_t>{0, 0, 2, 2}));
  EXPECT_EQ(among.hops[0].indices, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(among.hops[1].offsets, (std::vector<uint32_t>{0, 0, 2, 2, 2}));
}

TEST(Sampler, DrawsNobodyWhereTheFanoutIsNone) {
  for (const bool all_degrees : {false, true}) {
    memory::Ledger ledger(64 * kMiB);
    const Lists lists = random_lists(300, 9, 1);
    const Topology topology = topology_of(lists, ledger);
    Sampler some(topology, {.fanout = {3}, .all_degrees = all_degrees}, ledger);
    Sampler and_none(topology, {.fanout = {3, 0}, .all_degrees = all_degrees}, ledger);
    Neighborhood drawn(ledger, 1);
    Neighborhood same(ledger, 2);
    some.sample(every(7, 0, 300), 5, drawn);
    and_none.sample(every(7, 0, 300), 5, same);
    const Drawn one = copy_of(drawn, all_degrees);
    ASSERT_EQ(same.node_count(), drawn.node_count());
    EXPECT_EQ(same.hops[1].destinations, same.node_count());
    EXPECT_EQ(same.hops[1].sources, same.node_count());
    EXPECT_EQ(same.hops[1].edges(), 0U);
    for (uint32_t i = 0; i < same.node_count(); ++i) EXPECT_EQ(same.nodes[i], one.nodes[i]);
    for (size_t i = 0; i < one.degrees.size(); ++i) EXPECT_EQ(same.degrees[i], one.degrees[i]);
  }
}

TEST(Sampler, RefusesASeedThatStandsTwice) {
  Sampling sampling(random_lists(10, 3, 1), {2});
  expect_error(ErrorKind::internal, {"3 seeds, 2 of them different"}, [&] {
    sampling.draw({4, 5, 4}, 1);
  });
}

TEST(Sampler, DrawsFromAHubOfAHundredThousand) {
  constexpr uint32_t kNodes = 100'001;
  Lists lists(kNodes);
  for (uint32_t node = 1; node < kNodes; ++node) {
    lists[0].push_back(node);
    lists[node].push_back(0);
  }
  for (const uint32_t fanout : {1U, 10U, 48U, 49U, 200U, 99'999U, 100'000U, kAll}) {
    for (const auto draw : {recipe::Draw::uniform, recipe::Draw::labor}) {
      Sampling sampling(lists, {fanout, 2}, draw);
      for (const auto& seeds : {std::vector<uint32_t>{0}, std::vector<uint32_t>{77, 0, 5}}) {
        ASSERT_NO_FATAL_FAILURE(expect_sound(lists, seeds, {fanout, 2}, sampling.draw(seeds, 4)));
      }
    }
  }
}

TEST(Labor, DrawsEveryNeighbourAsOften) {
  constexpr uint32_t kNeighbors = 40;
  constexpr uint32_t kFanout = 7;
  constexpr int kDraws = 20'000;
  Lists lists(kNeighbors + 1);
  for (uint32_t node = 1; node <= kNeighbors; ++node) lists[0].push_back(node);
  Sampling sampling(lists, {kFanout}, recipe::Draw::labor);
  std::vector<double> times(kNeighbors + 1);
  for (uint64_t key = 0; key < kDraws; ++key) {
    const Drawn drawn = sampling.draw({0}, key);
    for (const uint32_t index : drawn.hops[0].indices) ++times[drawn.nodes[index]];
  }
  const double expected = double{kDraws} * kFanout / kNeighbors;
  double chi_square = 0;
  for (uint32_t node = 1; node <= kNeighbors; ++node) {
    chi_square += (times[node] - expected) * (times[node] - expected) / expected;
  }
  EXPECT_LT(chi_square, 80);  // 39 degrees of freedom: one in ten thousand
}

TEST(Labor, TakesTheSameNeighboursForNodesThatShareThem) {
  Lists lists(1000);
  for (uint32_t node = 0; node < 100; ++node) {
    for (uint32_t neighbor = 100; neighbor < 1000; ++neighbor) lists[node].push_back(neighbor);
  }
  const auto seeds = every(1, 0, 100);
  const Drawn shared = Sampling(lists, {10}, recipe::Draw::labor).draw(seeds, 3);
  EXPECT_EQ(shared.nodes.size(), 110U);
  EXPECT_GT(Sampling(lists, {10}).draw(seeds, 3).nodes.size(), 600U);
}

TEST(Labor, MeetsFewerNodesThanDrawingAlone) {
  const Lists lists = random_lists(3000, 300, 2);
  const auto seeds = every(13, 0, 3000);
  const size_t shared = Sampling(lists, {5, 3}, recipe::Draw::labor).draw(seeds, 1).nodes.size();
  EXPECT_LT(shared, 0.9 * static_cast<double>(Sampling(lists, {5, 3}).draw(seeds, 1).nodes.size()));
}

TEST(Sampler, DrawsTheSameForTheSameKeyAndAnotherForAnother) {
  const Lists lists = random_lists(3000, 100, 4);
  const auto seeds = every(59, 1, 3000);
  for (const auto& fanout : {std::vector<uint32_t>{10, 5}, std::vector<uint32_t>{60, 2}}) {
    Sampling one(lists, fanout);
    Sampling two(lists, fanout);
    const Drawn first = one.draw(seeds, 1);
    EXPECT_EQ(first, two.draw(seeds, 1));
    EXPECT_NE(first, one.draw(seeds, 2));
    EXPECT_NE(first, one.draw(seeds, uint64_t{1} << 63 | 1));
  }
}

TEST(Sampler, DrawsTheSameWhateverItDrewBefore) {
  const Lists lists = random_lists(3000, 100, 5);
  const auto seeds = every(59, 1, 3000);
  const std::vector<uint32_t> fanout = {60, 5};
  Sampling used(lists, fanout);
  Sampling fresh(lists, fanout);
  const Drawn expected = fresh.draw(seeds, 1);
  for (uint64_t round = 0; round < 3; ++round) {
    used.draw(every(3, 0, 3000), round);  // far larger
    EXPECT_EQ(used.draw(seeds, 1), expected);
    used.draw({0}, round);  // the hub alone
    EXPECT_EQ(used.draw(seeds, 1), expected);
  }
}

// A node's draws in a hop do not depend on who else is there: only its numbers do.
TEST(Sampler, DrawsANodesNeighboursWhoeverStandsBesideIt) {
  const Lists lists = random_lists(1000, 100, 6);
  Sampling sampling(lists, {10});
  const auto neighbors_of_first = [&](const std::vector<uint32_t>& seeds) {
    const Drawn drawn = sampling.draw(seeds, 8);
    std::vector<uint32_t> neighbors;
    for (uint32_t e = 0; e < drawn.hops[0].offsets[1]; ++e) {
      neighbors.push_back(drawn.nodes[drawn.hops[0].indices[e]]);
    }
    return neighbors;
  };
  EXPECT_EQ(neighbors_of_first({0}), neighbors_of_first({0, 500, 1, 2}));
}

TEST(Sampler, DrawsAnewInEveryHop) {
  const Lists lists = random_lists(1000, 100, 7);
  Sampling sampling(lists, {10, 10});
  const Drawn drawn = sampling.draw({0}, 1);
  const auto list = [&](size_t hop) {
    const auto& [offsets, indices] = drawn.hops[hop];
    return std::set(indices.begin(), indices.begin() + offsets[1]);
  };
  EXPECT_NE(list(0), list(1));
}

TEST(Sampler, DrawsForEachNodeOnceIfAsked) {
  const Lists lists = random_lists(1000, 30, 7);
  memory::Ledger ledger(kGiB);
  const Topology topology = topology_of(lists, ledger);
  const std::vector<uint32_t> seeds = {5, 900, 12};
  Sampler sampler(topology, {.fanout = {10, 5, 3}, .expansion = Expansion::once}, ledger);
  Neighborhood out(ledger, 3);
  sampler.sample(seeds, 1, out);
  const Drawn once = copy_of(out);
  uint32_t expanded = 0;
  for (const Drawn::Block& hop : once.hops) {
    EXPECT_EQ(hop.offsets[expanded], 0U) << "a node that had its hop before";
    expanded = static_cast<uint32_t>(hop.offsets.size() - 1);
  }
  // Nodes that a hop draws for have the neighbours that they have without the option.
  const Drawn every = Sampling(lists, {10, 5, 3}).draw(seeds, 1);
  EXPECT_EQ(once.hops[0], every.hops[0]);
  const auto neighbors = [](const Drawn& drawn, uint32_t node) {
    std::vector<uint32_t> found;
    for (uint32_t i = 3; i + 1 < drawn.hops[1].offsets.size(); ++i) {
      if (drawn.nodes[i] != node) continue;
      for (uint32_t e = drawn.hops[1].offsets[i]; e < drawn.hops[1].offsets[i + 1]; ++e) {
        found.push_back(drawn.nodes[drawn.hops[1].indices[e]]);
      }
    }
    return found;
  };
  for (uint32_t i = 3; i + 1 < once.hops[1].offsets.size(); ++i) {
    EXPECT_EQ(neighbors(once, once.nodes[i]), neighbors(every, once.nodes[i]));
  }
}

TEST(Sampler, DrawsAgainAfterItsMemoryWasRefused) {
  const Lists lists = random_lists(3000, 100, 8);
  const auto seeds = every(59, 1, 3000);
  Sampling sampling(lists, {60, 60});
  const Drawn expected = Sampling(lists, {60, 60}).draw(seeds, 1);
  // Refused at each of the places where it could be.
  for (uint64_t left_bytes = 0; left_bytes < 300 * kKiB; left_bytes += 12 * kKiB) {
    Sampler sampler(sampling.topology, {.fanout = {60, 60}}, sampling.ledger);
    Neighborhood neighborhood(sampling.ledger, 2);
    {
      const auto rest =
          sampling.ledger.lease("others", sampling.ledger.available_bytes() - left_bytes);
      expect_error(ErrorKind::memory, {}, [&] { sampler.sample(seeds, 1, neighborhood); });
    }
    sampler.sample(seeds, 1, neighborhood);
    ASSERT_EQ(copy_of(neighborhood), expected);
  }
}

// Pearson's statistic of counts that should all be equal, over their degrees of freedom: about 1,
// with a standard deviation of root(2 / freedom). The bound is five of those, and the seeds here
// are fixed.
void expect_equal_counts(const std::vector<double>& counts, double scale, const std::string& what) {
  const double mean =
      std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  double statistic = 0;
  for (const double count : counts) statistic += (count - mean) * (count - mean) / mean;
  const auto freedom = static_cast<double>(counts.size() - 1);
  const double ratio = statistic * scale / freedom;
  EXPECT_NEAR(ratio, 1, 5 * std::sqrt(2 / freedom)) << what;
}

template <typename Key>
std::vector<double> counts_of(const std::map<Key, double>& counted) {
  std::vector<double> counts;
  counts.reserve(counted.size());
  for (const auto& [key, count] : counted) counts.push_back(count);
  return counts;
}

// A seed whose list is 1 .. degree.
Lists star(uint32_t degree) {
  Lists lists(degree + 1);
  for (uint32_t node = 1; node <= degree; ++node) lists[0].push_back(node);
  return lists;
}

struct Choice {
  uint32_t degree;
  uint32_t fanout;
  uint64_t draws;
};

// Every neighbour is among the chosen equally often. Counts of k out of n without replacement
// vary less than independent ones, by (1 - k / n) * n / (n - 1): the statistic is scaled back.
TEST(SamplerDraws, EveryNeighbourEquallyOften) {
  for (const auto& [degree, fanout, draws] :
       {Choice{2, 1, 20'000}, Choice{7, 3, 20'000}, Choice{20, 10, 20'000}, Choice{20, 19, 20'000},
        Choice{1000, 15, 40'000}, Choice{100, 48, 10'000},  // few places
        Choice{50, 49, 20'000}, Choice{64, 49, 10'000}, Choice{65, 60, 10'000},
        Choice{128, 100, 10'000}, Choice{1000, 200, 10'000}}) {  // a bit for every place
    Sampling sampling(star(degree), {fanout});
    std::vector<double> counts(degree);
    for (uint64_t key = 0; key < draws; ++key) {
      sampling.sampler.sample(std::array<uint32_t, 1>{0}, key, sampling.neighborhood);
      ASSERT_EQ(sampling.neighborhood.node_count(), fanout + 1);
      for (uint32_t i = 1; i <= fanout; ++i) ++counts[sampling.neighborhood.nodes[i] - 1];
    }
    const double n = degree;
    const double narrower = (1 - fanout / n) * n / (n - 1);
    if (degree == 2) {  // one degree of freedom: the plain binomial bound says more
      EXPECT_NEAR(counts[0], static_cast<double>(draws) / 2,
                  5 * std::sqrt(static_cast<double>(draws)) / 2);
      continue;
    }
    expect_equal_counts(counts, 1 / narrower,
                        std::to_string(fanout) + " of " + std::to_string(degree));
  }
}

// All sets equally often, which says all there is to say about pairs, too.
TEST(SamplerDraws, EverySetOfAFewPlacesEquallyOften) {
  for (const auto& [degree, fanout, draws] :
       {Choice{6, 3, 40'000}, Choice{5, 2, 40'000}, Choice{8, 6, 60'000}}) {
    Sampling sampling(star(degree), {fanout});
    std::map<uint32_t, double> by_set;
    for (uint64_t key = 0; key < draws; ++key) {
      sampling.sampler.sample(std::array<uint32_t, 1>{0}, key, sampling.neighborhood);
      ASSERT_EQ(sampling.neighborhood.node_count(), fanout + 1);
      uint32_t set = 0;
      for (uint32_t i = 1; i <= fanout; ++i) set |= 1U << sampling.neighborhood.nodes[i];
      ++by_set[set];
    }
    const std::vector<double> counts = counts_of(by_set);
    double sets = 1;
    for (uint32_t i = 0; i < fanout; ++i) sets = sets * (degree - i) / (i + 1);
    ASSERT_EQ(static_cast<double>(counts.size()), sets);
    expect_equal_counts(counts, 1, std::to_string(fanout) + " of " + std::to_string(degree));
  }
}

// 50 of 52: the pair that is left out tells the set.
TEST(SamplerDraws, EverySetOfManyPlacesEquallyOften) {
  constexpr uint32_t kDegree = 52;
  constexpr uint32_t kSets = kDegree * (kDegree - 1) / 2;
  Sampling sampling(star(kDegree), {kDegree - 2});
  std::map<uint64_t, double> by_pair;
  for (uint64_t key = 0; key < uint64_t{kSets} * 30; ++key) {
    sampling.sampler.sample(std::array<uint32_t, 1>{0}, key, sampling.neighborhood);
    ASSERT_EQ(sampling.neighborhood.node_count(), kDegree - 1);
    uint64_t left_out = (uint64_t{1} << (kDegree + 1)) - 2;
    for (uint32_t i = 1; i <= kDegree - 2; ++i) {
      left_out &= ~(uint64_t{1} << sampling.neighborhood.nodes[i]);
    }
    ++by_pair[left_out];
  }
  const std::vector<double> counts = counts_of(by_pair);
  ASSERT_EQ(counts.size(), kSets);
  expect_equal_counts(counts, 1, "pairs left out");
}

// Over the nodes of one hop, not only over keys: each of 20,000 nodes draws 2 of the same 10.
TEST(SamplerDraws, AnewForEveryNodeOfAHop) {
  constexpr uint32_t kSeeds = 20'000;
  constexpr uint32_t kDegree = 10;
  Lists lists(kSeeds + kDegree);
  for (uint32_t node = 0; node < kSeeds; ++node) {
    for (uint32_t i = 0; i < kDegree; ++i) lists[node].push_back(kSeeds + i);
  }
  Sampling sampling(lists, {2});
  const Drawn drawn = sampling.draw(every(1, 0, kSeeds), 3);
  std::map<uint32_t, double> by_pair;
  for (uint32_t i = 0; i < kSeeds; ++i) {
    const auto& indices = drawn.hops[0].indices;
    ++by_pair[1U << (drawn.nodes[indices[2 * i]] - kSeeds) |
              1U << (drawn.nodes[indices[2 * i + 1]] - kSeeds)];
  }
  const std::vector<double> counts = counts_of(by_pair);
  ASSERT_EQ(counts.size(), 45U);
  expect_equal_counts(counts, 1, "pairs");
}

}  // namespace
}  // namespace plimsoll::sample
