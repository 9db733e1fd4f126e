#include "api/array_graph.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "base/half.h"
#include "small_store.h"

namespace plimsoll::api {
namespace {

TEST(ArrayGraph, HasTheEdgesOfItsArraysWhateverTheirLayout) {
  const SmallArrays arrays;
  std::vector<int32_t> pairs;  // one row per edge
  for (uint64_t i = 0; i < SmallArrays::kEdges; ++i) {
    pairs.push_back(static_cast<int32_t>(arrays.sources[i]));
    pairs.push_back(static_cast<int32_t>(arrays.destinations[i]));
  }
  plimsoll_import_options options = arrays.options();
  options.sources = {pairs.data(), SmallArrays::kEdges, 8, PLIMSOLL_I32, 0};
  options.destinations = {pairs.data() + 1, SmallArrays::kEdges, 8, PLIMSOLL_I32, 0};
  ArrayGraph graph(options);
  std::vector<uint32_t> sources(1000);
  std::vector<uint32_t> destinations(1000);
  uint64_t seen = 0;
  while (const size_t count = graph.next_edges(sources, destinations)) {
    for (size_t i = 0; i < count; ++i, ++seen) {
      ASSERT_EQ(sources[i], arrays.sources[seen]);
      ASSERT_EQ(destinations[i], arrays.destinations[seen]);
    }
  }
  EXPECT_EQ(seen, SmallArrays::kEdges);
}

TEST(ArrayGraph, ConvertsFeaturesOfEveryType) {
  const SmallArrays arrays;
  std::vector<double> doubles(arrays.features.begin(), arrays.features.end());
  std::vector<uint16_t> halves(arrays.features.size());
  to_half(arrays.features, halves);
  plimsoll_import_options options = arrays.options();
  const auto all_rows = [&] {
    ArrayGraph graph(options);
    std::vector<float> rows(arrays.features.size());
    std::vector<float> some(64 * SmallArrays::kColumns);
    while (true) {
      const auto got = graph.next_rows(some);
      if (got.count == 0) return rows;
      std::copy_n(some.begin(), got.count * SmallArrays::kColumns,
                  rows.begin() + static_cast<int64_t>(got.first_node * SmallArrays::kColumns));
    }
  };
  EXPECT_EQ(all_rows(), arrays.features);
  options.features = SmallArrays::array(doubles, PLIMSOLL_F64, SmallArrays::kColumns);
  EXPECT_EQ(all_rows(), arrays.features);
  options.features = SmallArrays::array(halves, PLIMSOLL_F16, SmallArrays::kColumns);
  EXPECT_EQ(all_rows(), arrays.features);  // whole numbers below 1000 are exact
}

TEST(ArrayGraph, RefusesWhatDoesNotFitTogether) {
  SmallArrays arrays;
  const auto refuses = [&](auto change, ErrorKind kind, const std::string& text) {
    plimsoll_import_options options = arrays.options();
    change(options);
    try {
      const ArrayGraph graph(options);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  refuses([](auto& o) { o.destinations.count -= 1; }, ErrorKind::input, "5999 destinations");
  refuses([](auto& o) { o.labels.count = 3; }, ErrorKind::input, "3 labels");
  refuses([](auto& o) { o.features.type = PLIMSOLL_I64; }, ErrorKind::usage, "f16, f32 or f64");
  refuses([](auto& o) { o.splits[0].count = 5; }, ErrorKind::input, "5 values in a mask");
  refuses([](auto& o) { o.nodes = 0; }, ErrorKind::input, "no nodes");
  refuses([](auto& o) { o.columns = 0; }, ErrorKind::input, "0 columns");
}

TEST(ArrayGraph, NamesTheRowOfAnIdThatIsNoNode) {
  SmallArrays arrays;
  arrays.sources[17] = 600;
  const plimsoll_import_options options = arrays.options();
  ArrayGraph graph(options);
  std::vector<uint32_t> sources(100);
  std::vector<uint32_t> destinations(100);
  try {
    graph.next_edges(sources, destinations);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "the array of edges, row 17: id 600 but there are only 600 nodes; ids count from 0");
  }
}

}  // namespace
}  // namespace plimsoll::api
