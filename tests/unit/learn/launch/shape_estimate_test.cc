#include "launch/shape_estimate.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace plimsoll::launch {
namespace {

TEST(ParseCount, UnderstandsThousandsMillionsAndThousandMillions) {
  EXPECT_EQ(parse_short_count("2500"), 2500U);
  EXPECT_EQ(parse_short_count("1.5K"), 1500U);
  EXPECT_EQ(parse_short_count("111M"), 111'000'000U);
  EXPECT_EQ(parse_short_count("1.6G"), 1'600'000'000U);
  EXPECT_EQ(parse_short_count("1.6B"), 1'600'000'000U);
  for (const char* text :
       {"", "M", "-1", "1e9", "1MM", "1 M", "nan", "0x10", "1T", "9999999999G"}) {
    expect_error(ErrorKind::usage, {"is not a count"}, [&] { parse_short_count(text); });
  }
}

TEST(ShapeOf, IsThePresetsUnlessSomethingIsGiven) {
  EXPECT_EQ(described_graph("papers100M", {}).nodes, 111'059'956U);
  const ingest::SynthOptions half = described_graph("papers100M", {.nodes = 55'529'978});
  EXPECT_EQ(half.nodes, 55'529'978U);
  EXPECT_NEAR(static_cast<double>(half.train), 1'207'179 / 2.0, 1);
  EXPECT_EQ(half.edges, 1'615'685'872U);
  EXPECT_EQ(described_graph("products", {.columns = 7, .classes = 9}).feature_columns, 7U);
}

TEST(ShapeOf, NeedsAllFourFiguresOfAnUnknownDataSet) {
  const ShapeOptions whole = {.nodes = 1'000'000, .edges = 9'000'000, .columns = 10, .classes = 4};
  EXPECT_EQ(described_graph("", whole).train, 600'000U);
  ShapeOptions some = whole;
  some.train_nodes = 900'000;
  EXPECT_EQ(described_graph("", some).train, 900'000U);
  EXPECT_EQ(described_graph("", some).valid, 50'000U);
  some = whole;
  some.edges.reset();
  expect_error(ErrorKind::usage, {"--edges is missing"}, [&] { described_graph("", some); });
}

TEST(Presets, AreRecognisedAndSuggested) {
  EXPECT_TRUE(is_preset("papers100M"));
  EXPECT_FALSE(is_preset("papers"));
  EXPECT_EQ(nearest_preset("papers100m"), "papers100M");
  EXPECT_EQ(nearest_preset("product"), "products");
  EXPECT_FALSE(nearest_preset("a.plim"));
}

TEST(ShapeEstimate, StandsForALargeGraphAndLeavesNothingBehind) {
  std::filesystem::path folder;
  {
    const ShapeEstimate estimate(described_graph("papers100M", {}), /*directed=*/false, 2);
    const Planned planned = estimate.planned();
    folder = planned.store.folder().parent_path();
    EXPECT_GT(planned.scale, 100);
    EXPECT_LT(planned.store.meta().nodes, 200'000U);
    const plan::StoreShape& shape = *planned.shape;
    EXPECT_EQ(shape.nodes, 111'059'956U);
    EXPECT_EQ(shape.row_bytes, 256U);
    // Both directions, less what stands twice.
    EXPECT_GT(shape.edges, 2'900'000'000U);
    EXPECT_LE(shape.edges, 2 * 1'615'685'872U);
    EXPECT_EQ(shape.marks.back().node, shape.nodes);
    EXPECT_EQ(shape.marks.back().edges, shape.edges);
    EXPECT_GT(estimate.disk().store_bytes, uint64_t{40} << 30);
    EXPECT_GT(estimate.import_memory_bytes(), uint64_t{2} << 30);
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace plimsoll::launch
