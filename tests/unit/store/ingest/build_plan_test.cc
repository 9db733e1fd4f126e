#include "ingest/build_plan.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "ingest/spill.h"

namespace plimsoll::ingest {
namespace {

constexpr Shape kPapers = {
    .nodes = 111'059'956, .edges = 1'615'685'872, .feature_columns = 128, .has_labels = true};

BuildShape papers(graph::Direction direction) {
  return build_shape(kPapers, direction, graph::FeatureType::f16, false);
}

TEST(BuildPlan, PapersFitsThreeGigabytes) {
  EXPECT_LT(least_memory_bytes(papers(graph::Direction::undirected)), 3 * kGiB);
}

TEST(BuildPlan, TakesNoMoreThreadsThanMemoryCanFeed) {
  BuildShape shape = papers(graph::Direction::undirected);
  const uint64_t least = least_memory_bytes(shape);
  EXPECT_EQ(affordable_threads(2, shape, least), 2U);
  EXPECT_EQ(affordable_threads(256, shape, least), kLeastWorkingBytes / (3 * kMiB));
  EXPECT_EQ(affordable_threads(256, shape, 64 * kGiB), 256U);
  shape.source_bytes = kGiB;
  EXPECT_EQ(least_memory_bytes(shape), least + kGiB);
  EXPECT_EQ(affordable_threads(256, shape, least + kGiB), kLeastWorkingBytes / (3 * kMiB));
}

TEST(BuildPlan, ReleasingEarlyNeedsLessDisk) {
  const BuildShape shape = papers(graph::Direction::undirected);
  const DiskNeed keeping = disk_need(shape, false);
  const DiskNeed releasing = disk_need(shape, true);
  EXPECT_EQ(keeping.store_bytes, releasing.store_bytes);
  EXPECT_LT(releasing.together_bytes, keeping.together_bytes);
  EXPECT_LT(releasing.temp_bytes, keeping.temp_bytes);
  EXPECT_GE(releasing.together_bytes, releasing.store_bytes);
}

TEST(BuildPlan, StoreSizeIsTheSumOfItsFiles) {
  graph::Meta meta{.nodes = kPapers.nodes, .edges = 2 * kPapers.edges, .row_bytes = 256};
  meta.split_sizes = {meta.nodes, 0, 0};
  uint64_t sum = 0;
  for (const auto& [name, bytes] : expected_files(meta)) sum += bytes;
  const uint64_t planned = disk_need(papers(graph::Direction::undirected), true).store_bytes;
  EXPECT_GE(planned, sum);
  EXPECT_LT(planned, sum + 2 * kMiB);
}

// Whatever is asked, what the passes will take fits what they are given.
TEST(BuildPlan, DistributionsStayWithinTheirMemory) {
  for (const uint64_t memory : {24 * kMiB, 100 * kMiB, kGiB, 16 * kGiB}) {
    for (const uint64_t total : {uint64_t{1000}, 50 * kMiB, 26 * kGiB}) {
      for (const unsigned threads : {1U, 2U, 16U, 256U}) {
        const Distribution plan = plan_distribution(
            {.total_bytes = total, .record_bytes = 8, .memory_bytes = memory, .threads = threads});
        EXPECT_GE(plan.threads, 1U);
        EXPECT_LE(plan.threads, threads);
        EXPECT_EQ(plan.chunk_bytes % io::kBlockBytes, 0U);
        const uint64_t filling = plan.buckets * plan.chunk_bytes +
                                 plan.threads * (KeyScatter::bytes_needed(plan.buckets) + kMiB);
        EXPECT_LE(filling, memory) << memory << " " << total << " " << threads;
        const uint64_t sorting =
            plan.threads * (plan.workspace_bytes + plan.chunk_bytes) + kResortBytes;
        EXPECT_LE(sorting, memory) << memory << " " << total << " " << threads;
      }
    }
  }
}

TEST(BuildPlan, BucketsAreSmallWhereMemoryAllows) {
  const Distribution plan = plan_distribution(
      {.total_bytes = 26 * kGiB, .record_bytes = 8, .memory_bytes = 4 * kGiB, .threads = 2});
  EXPECT_LE(26 * kGiB / plan.buckets, 9 * kMiB);
}

TEST(BuildPlan, WideRowsRaiseTheLeastMemory) {
  const Shape wide = {.nodes = 1'000'000, .edges = 1, .feature_columns = 10'000};
  const auto least = [&](bool on_demand) {
    return least_memory_bytes(
        build_shape(wide, graph::Direction::directed, graph::FeatureType::f16, on_demand));
  };
  EXPECT_GT(least(false), least(true));
}

}  // namespace
}  // namespace plimsoll::ingest
