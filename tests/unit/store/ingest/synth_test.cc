#include "ingest/synth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::ingest {
namespace {

memory::Ledger& plenty() {
  static memory::Ledger ledger(uint64_t{1} << 30);
  return ledger;
}

SynthOptions small() {
  return {.nodes = 5000,
          .edges = 60'000,
          .classes = 12,
          .feature_columns = 30,
          .train = 500,
          .valid = 100,
          .test = 200,
          .homophily = 0.5,
          .signal = 4,
          .seed = 3};
}

struct Edges {
  std::vector<uint32_t> from;
  std::vector<uint32_t> to;
};
Edges all_edges(SynthGraph& source, size_t block) {
  Edges edges;
  std::vector<uint32_t> from(block);
  std::vector<uint32_t> to(block);
  while (const size_t count = source.next_edges(from, to)) {
    edges.from.insert(edges.from.end(), from.begin(), from.begin() + static_cast<long>(count));
    edges.to.insert(edges.to.end(), to.begin(), to.begin() + static_cast<long>(count));
  }
  return edges;
}

std::vector<int32_t> all_labels(SynthGraph& source) {
  std::vector<int32_t> labels;
  source.read_labels([&](std::span<const int32_t> piece) {
    labels.insert(labels.end(), piece.begin(), piece.end());
  });
  return labels;
}

SynthOptions all_labelled() {
  SynthOptions options = small();
  options.train = options.nodes;
  options.valid = 0;
  options.test = 0;
  return options;
}

TEST(Synth, LeasesWhatItKeepsOfEachClassAndSaysHowMuch) {
  SynthOptions options = small();
  options.classes = 2000;
  memory::Ledger ledger(kMiB);
  {
    const SynthGraph source(options, ledger);
    EXPECT_EQ(ledger.used_bytes(), SynthGraph::bytes_needed(options));
    EXPECT_EQ(source.leased_bytes(), SynthGraph::bytes_needed(options));
    EXPECT_GE(source.leased_bytes(), 2000U * (8 + 30 * 4));
  }
  memory::Ledger less(SynthGraph::bytes_needed(options) - 1);
  expect_error(ErrorKind::memory, {"classes"}, [&] { SynthGraph(options, less); });
}

TEST(Synth, MakesExactlyTheEdgesAskedForAndNoSelfLoops) {
  SynthGraph source(small(), plenty());
  const Edges edges = all_edges(source, 1000);
  ASSERT_EQ(edges.from.size(), small().edges);
  for (size_t i = 0; i < edges.from.size(); ++i) {
    ASSERT_LT(edges.from[i], small().nodes);
    ASSERT_LT(edges.to[i], small().nodes);
    ASSERT_NE(edges.from[i], edges.to[i]);
  }
}

TEST(Synth, DoesNotDependOnHowItIsRead) {
  SynthGraph one(small(), plenty());
  SynthGraph other(small(), plenty());
  EXPECT_EQ(all_edges(one, 1000).to, all_edges(other, 77).to);
  std::vector<float> in_order(small().nodes * 30);
  EXPECT_EQ(one.next_rows(in_order).count, small().nodes);
  std::vector<float> row(30);
  for (const uint32_t node : {0U, 17U, 4999U}) {
    other.rows_of(std::span(&node, 1), row);
    EXPECT_TRUE(std::equal(row.begin(), row.end(), in_order.begin() + node * 30));
  }
}

TEST(Synth, AnotherSeedIsAnotherGraph) {
  SynthOptions options = small();
  SynthGraph one(options, plenty());
  options.seed = 4;
  SynthGraph other(options, plenty());
  EXPECT_NE(all_edges(one, 1000).to, all_edges(other, 1000).to);
}

TEST(Synth, ReachesTheHomophilyAskedFor) {
  SynthGraph source(all_labelled(), plenty());
  const auto labels = all_labels(source);
  const Edges edges = all_edges(source, 1000);
  std::map<int32_t, double> sizes;
  for (const int32_t label : labels) ++sizes[label];
  double by_chance = 0;
  for (const auto& [label, size] : sizes) by_chance += std::pow(size / 5000, 2);
  double within = 0;
  for (size_t i = 0; i < edges.from.size(); ++i) {
    within += labels[edges.from[i]] == labels[edges.to[i]] ? 1 : 0;
  }
  EXPECT_NEAR(within / 60'000, 0.5 + 0.5 * by_chance, 0.01);
}

TEST(Synth, HasHeavyTailedInDegreesAndManyNodesWithoutCitations) {
  SynthGraph source(small(), plenty());
  std::vector<uint32_t> degrees(small().nodes);
  for (const uint32_t to : all_edges(source, 1000).to) ++degrees[to];
  std::sort(degrees.rbegin(), degrees.rend());
  const auto uncited = static_cast<double>(std::count(degrees.begin(), degrees.end(), 0U));
  EXPECT_GT(uncited / 5000, 0.25);
  EXPECT_LT(uncited / 5000, 0.40);
  EXPECT_GT(degrees[0], 30 * 12) << "the most cited has thirty times the mean";
  EXPECT_LT(degrees[5000 / 2], 12 / 2) << "the median is less than half the mean";
}

TEST(Synth, CutsDisjointSplitsOfTheExactSizesFromTheLabelled) {
  SynthGraph source(small(), plenty());
  const auto labels = all_labels(source);
  EXPECT_EQ(std::count_if(labels.begin(), labels.end(), [](int32_t label) { return label >= 0; }),
            800);
  std::set<uint32_t> seen;
  std::map<SplitKind, uint64_t> sizes;
  source.read_splits([&](SplitKind split, uint64_t row, uint32_t node) {
    EXPECT_EQ(row, sizes[split]++);
    EXPECT_TRUE(seen.insert(node).second);
    EXPECT_GE(labels[node], 0);
  });
  EXPECT_EQ(sizes[SplitKind::train], 500U);
  EXPECT_EQ(sizes[SplitKind::valid], 100U);
  EXPECT_EQ(sizes[SplitKind::test], 200U);
}

TEST(Synth, ClassSizesAreSkewed) {
  SynthGraph source(all_labelled(), plenty());
  std::map<int32_t, int> sizes;
  for (const int32_t label : all_labels(source)) ++sizes[label];
  ASSERT_EQ(sizes.size(), 12U);
  EXPECT_NEAR(static_cast<double>(sizes[0]) / sizes[11], 15.0 / 4, 0.2);
}

TEST(Synth, FeaturesStandOffTheNoiseByTheSignal) {
  SynthGraph source(all_labelled(), plenty());
  const auto labels = all_labels(source);
  std::vector<float> rows(5000 * 30);
  source.next_rows(rows);
  std::vector<double> mean(30);
  double count = 0;
  for (size_t node = 0; node < 5000; ++node) {
    if (labels[node] != 0) continue;
    ++count;
    for (size_t j = 0; j < 30; ++j) mean[j] += rows[node * 30 + j];
  }
  double norm = 0;
  double variance = 0;
  for (size_t j = 0; j < 30; ++j) norm += std::pow(mean[j] / count, 2);
  for (size_t node = 0; node < 5000; ++node) {
    if (labels[node] != 0) continue;
    for (size_t j = 0; j < 30; ++j) variance += std::pow(rows[node * 30 + j] - mean[j] / count, 2);
  }
  const double noise = std::sqrt(variance / (count * 30));
  EXPECT_NEAR(std::sqrt(norm) / noise, 4.0, 1.5) << "a random vector's length spreads";
  EXPECT_NEAR(noise, 0.25, 0.01);
}

TEST(Synth, PresetsHaveThePublishedShapes) {
  const SynthOptions papers = synth_presets().at(0).options;
  EXPECT_EQ(papers.nodes, 111'059'956U);
  EXPECT_EQ(papers.edges, 1'615'685'872U);
  EXPECT_EQ(papers.classes, 172U);
  EXPECT_EQ(papers.train + papers.valid + papers.test, 1'546'782U);
  for (const SynthPreset& preset : synth_presets()) {
    EXPECT_NO_THROW(check(preset.options)) << preset.name;
    EXPECT_NO_THROW(check(scaled(preset.options, 0.0001))) << preset.name;
    EXPECT_NO_THROW(check(scaled(preset.options, 0.37))) << preset.name;
  }
}

TEST(Synth, RefusesOptionsOutOfRange) {
  const auto refused = [](auto change) {
    SynthOptions options = small();
    change(options);
    EXPECT_THROW(check(options), Error);
  };
  refused([](SynthOptions& options) { options.nodes = 0; });
  refused([](SynthOptions& options) { options.nodes = uint64_t{1} << 32; });
  refused([](SynthOptions& options) { options.edges = 0; });
  refused([](SynthOptions& options) { options.classes = 0; });
  refused([](SynthOptions& options) { options.classes = 4000; });
  refused([](SynthOptions& options) { options.feature_columns = 0; });
  refused([](SynthOptions& options) { options.homophily = 1.1; });
  refused([](SynthOptions& options) { options.homophily = NAN; });
  refused([](SynthOptions& options) { options.signal = -1; });
  refused([](SynthOptions& options) { options.test = 5000; });
}

}  // namespace
}  // namespace plimsoll::ingest
