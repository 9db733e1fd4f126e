#include "graph/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "tiny_store.h"

namespace plimsoll::graph {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

StoreSummary summarise_graph(const TinyGraph& graph) {
  const TempFolder temp;
  write_store(temp.path() / "store", graph);
  memory::Ledger ledger(8 * kMiB);
  const Store store = open(temp.path() / "store");
  return summarise(store, ledger, [](uint64_t) {});
}

std::string refusal_of(const TinyGraph& graph) {
  try {
    summarise_graph(graph);
    return "no refusal";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::store);
    return error.what();
  }
}

TEST(StoreSummary, DescribesTheDegreesOfASmallGraphExactly) {
  const DegreeSummary degrees = summarise_graph({}).degrees;
  EXPECT_EQ(degrees.minimum, 0);
  EXPECT_EQ(degrees.median, 1);
  EXPECT_DOUBLE_EQ(degrees.mean, 1.0);
  EXPECT_EQ(degrees.percentile_90, 2);
  EXPECT_EQ(degrees.maximum, 2);
  EXPECT_EQ(degrees.nodes_without_in_edges, 1);
  EXPECT_THAT(degrees.by_power_of_two, ElementsAre(1, 2, 1));
}

TEST(StoreSummary, CountsLabelsAndTheLargestAndSmallestClassThatIsNotEmpty) {
  const LabelSummary labels = summarise_graph({.labels = {2, 4, -1, 4}, .classes = 6}).labels;
  EXPECT_EQ(labels.labelled, 3);
  EXPECT_EQ(labels.classes, 6);
  EXPECT_EQ(labels.empty_classes, 4);
  ASSERT_TRUE(labels.largest);
  EXPECT_EQ(labels.largest->label, 4);
  EXPECT_EQ(labels.largest->nodes, 2);
  ASSERT_TRUE(labels.smallest);
  EXPECT_EQ(labels.smallest->label, 2);
  EXPECT_EQ(labels.smallest->nodes, 1);
}

TEST(StoreSummary, OfAGraphWithoutLabelsHasNoLargestClass) {
  const LabelSummary labels = summarise_graph({.labels = {-1, -1, -1, -1}, .classes = 0}).labels;
  EXPECT_EQ(labels.labelled, 0);
  EXPECT_FALSE(labels.largest);
  EXPECT_FALSE(labels.smallest);
}

TEST(StoreSummary, GivesTheShareOfVisitsThatTheFirstRowsTake) {
  const auto curve = summarise_graph({}).hotness;
  ASSERT_EQ(curve.size(), 7);
  EXPECT_EQ(curve[0].rows_per_mille, 1);
  EXPECT_EQ(curve[0].rows, 1);  // a part of a row counts as the whole
  EXPECT_THAT(curve[0].visits_share, DoubleEq(0.4));
  EXPECT_EQ(curve[5].rows_per_mille, 200);
  EXPECT_EQ(curve[5].rows, 1);
  EXPECT_EQ(curve[6].rows_per_mille, 500);
  EXPECT_EQ(curve[6].rows, 2);
  EXPECT_THAT(curve[6].visits_share, DoubleEq(0.7));
}

TEST(StoreSummary, HasNoCurveWhereNoVisitsAreExpected) {
  EXPECT_TRUE(summarise_graph({.hotness = {0, 0, 0, 0}}).hotness.empty());
}

TEST(DegreeHistogram, OfNoNodesIsAllZero) {
  memory::Ledger ledger(8 * kMiB);
  const DegreeHistogram histogram(ledger);
  EXPECT_EQ(histogram.minimum(), 0);
  EXPECT_EQ(histogram.maximum(), 0);
  EXPECT_EQ(histogram.percentile(50), 0);
  EXPECT_TRUE(histogram.by_power_of_two().empty());
}

TEST(StoreSummary, ReadsTheBytesItAnnounces) {
  const TempFolder temp;
  write_store(temp.path() / "store", {});
  memory::Ledger ledger(8 * kMiB);
  const Store store = open(temp.path() / "store");
  uint64_t read_bytes = 0;
  summarise(store, ledger, [&](uint64_t bytes) { read_bytes += bytes; });
  EXPECT_EQ(read_bytes, 5 * 8 + 4 * 4 + 4 * 4);
  EXPECT_EQ(read_bytes, summary_bytes(store));
}

TEST(StoreSummary, NeedsNoMoreMemoryForMoreNodes) {
  const auto peak_bytes = [](size_t nodes) {
    const TempFolder temp;
    const TinyGraph graph = {.offsets = std::vector<uint64_t>(nodes + 1),
                             .labels = std::vector<int32_t>(nodes),
                             .hotness = std::vector<float>(nodes)};
    write_store(temp.path() / "store", graph);
    memory::Ledger ledger(8 * kMiB);
    const Store store = open(temp.path() / "store");
    summarise(store, ledger, [](uint64_t) {});
    EXPECT_EQ(ledger.used_bytes(), 0);
    return ledger.peak_bytes();
  };
  EXPECT_EQ(peak_bytes(100), peak_bytes(1'000'000));
}

TEST(StoreSummary, RefusesMoreClassesThanTheLimitHasCountersFor) {
  const TempFolder temp;
  write_store(temp.path() / "store", {.classes = 100'000'000});
  memory::Ledger ledger(8 * kMiB);
  const Store store = open(temp.path() / "store");
  try {
    summarise(store, ledger, [](uint64_t) {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::memory);
    EXPECT_THAT(error.what(), HasSubstr("class counts"));
  }
}

TEST(StoreSummary, RefusesOffsetsThatGoBackwards) {
  EXPECT_THAT(refusal_of({.offsets = {0, 3, 2, 3, 4}}), HasSubstr("offset 2 is 2, after 3"));
}

TEST(StoreSummary, RefusesOffsetsThatDoNotBeginAtZero) {
  EXPECT_THAT(refusal_of({.offsets = {1, 2, 3, 3, 4}}), HasSubstr("offset 0 is 1"));
}

TEST(StoreSummary, RefusesAnOffsetBeyondTheEdges) {
  EXPECT_THAT(refusal_of({.offsets = {0, 2, 9, 9, 4}}), HasSubstr("offset 2 is 9"));
}

TEST(StoreSummary, RefusesALabelThatIsNoClass) {
  EXPECT_THAT(refusal_of({.labels = {0, 1, 2, -1}}), HasSubstr("node 2 has label 2"));
  EXPECT_THAT(refusal_of({.labels = {0, -2, 1, -1}}), HasSubstr("node 1 has label -2"));
}

TEST(StoreSummary, RefusesAHotnessThatIsNoCountOfVisits) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal_of({.hotness = {4, -3, 2, 1}}), HasSubstr("row 1 expects -3 visits"));
  EXPECT_THAT(refusal_of({.hotness = {4, 3, 2, kNan}}), HasSubstr("row 3 expects nan visits"));
}

TEST(StoreSummary, RefusesACountOfLabelsThatTheFileDoesNotHave) {
  const TempFolder temp;
  const TinyGraph graph;
  Meta meta = meta_of(graph);
  meta.labelled = 4;
  write_store(temp.path() / "store", graph, meta);
  memory::Ledger ledger(8 * kMiB);
  const Store store = open(temp.path() / "store");
  EXPECT_THROW(
      try { summarise(store, ledger, [](uint64_t) {}); } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("has 3 labelled nodes, meta.json says 4"));
        throw;
      },
      Error);
}

TEST(DegreeHistogram, IsExactBelowItsBound) {
  memory::Ledger ledger(kMiB);
  DegreeHistogram histogram(ledger);
  for (uint64_t degree = 1; degree <= 100; ++degree) histogram.add(degree * 40);
  EXPECT_EQ(histogram.percentile(50), 2000);
  EXPECT_EQ(histogram.percentile(90), 3600);
  EXPECT_EQ(histogram.percentile(99), 3960);
}

TEST(DegreeHistogram, IsAtMostOneSixtyFourthTooLowAbove) {
  for (const uint64_t degree :
       {uint64_t{4096}, uint64_t{4159}, uint64_t{123'457}, (uint64_t{1} << 33) - 1}) {
    memory::Ledger ledger(kMiB);
    DegreeHistogram histogram(ledger);
    histogram.add(1);
    histogram.add(degree);
    histogram.add(degree);
    EXPECT_LE(histogram.percentile(50), degree);
    EXPECT_GE(histogram.percentile(50), degree - degree / 64);
    EXPECT_EQ(histogram.maximum(), degree);
  }
}

TEST(DegreeHistogram, NeverSaysLessThanTheMinimum) {
  memory::Ledger ledger(kMiB);
  DegreeHistogram histogram(ledger);
  histogram.add(5003);
  EXPECT_EQ(histogram.percentile(50), 5003);
}

TEST(DegreeHistogram, PutsAPowerOfTwoIntoTheRangeThatItBegins) {
  memory::Ledger ledger(kMiB);
  DegreeHistogram histogram(ledger);
  for (const uint64_t degree : {0, 1, 2, 3, 4, 8191, 8192}) histogram.add(degree);
  EXPECT_THAT(histogram.by_power_of_two(),
              ElementsAre(1, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1));
}

}  // namespace
}  // namespace plimsoll::graph
