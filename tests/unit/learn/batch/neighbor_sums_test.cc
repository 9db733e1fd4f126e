#include "batch/neighbor_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "base/random.h"
#include "base/units.h"
#include "graph/store.h"
#include "sample/small_graph.h"
#include "temp_folder.h"

namespace plimsoll::batch {
namespace {

using sample::Lists;

// Rows of random values, and the same values as floats.
struct SummedStore {
  SummedStore(Lists graph, uint64_t width, bool half) : columns(width), lists(std::move(graph)) {
    sample::SmallStore small{
        .lists = lists,
        .feature_type = half ? graph::FeatureType::f16 : graph::FeatureType::f32,
        .feature_columns = columns};
    const uint64_t row_bytes = graph::padded_row_bytes(small.feature_type, columns);
    small.rows.assign(lists.size() * row_bytes, std::byte{0x7f});  // padding that would show
    values.resize(lists.size() * columns);
    std::vector<uint16_t> halves(columns);
    for (uint64_t row = 0; row < lists.size(); ++row) {
      const std::span<float> own(&values[row * columns], columns);
      const RandomStream random(columns, row);
      for (uint64_t i = 0; i < columns; ++i) {
        own[i] = static_cast<float>(unit_interval(random.at(i)) - 0.5);
      }
      to_half(own, halves);
      for (uint64_t i = 0; half && i < columns; ++i) own[i] = from_half(halves[i]);
      const void* from = half ? static_cast<const void*>(halves.data()) : own.data();
      std::memcpy(&small.rows[row * row_bytes], from, columns * (half ? 2 : 4));
    }
    sample::write_store(folder / "a.plim", small);
  }

  float root(uint64_t node) const {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(lists[node].size() + 1)));
  }
  // In the order of the lists, one addition after the other.
  std::vector<float> expected(Weighting weighting) const {
    const bool gcn = weighting == Weighting::gcn_full;
    std::vector<float> sums(values.size(), 0.0F);
    for (uint64_t node = 0; node < lists.size(); ++node) {
      const auto degree = static_cast<float>(lists[node].size());
      const float mean = lists[node].empty() ? 0 : 1.0F / degree;
      const float weight = gcn && !lists[node].empty() ? root(node) : mean;
      for (uint64_t i = 0; i < columns; ++i) {
        float& sum = sums[node * columns + i];
        for (const uint32_t other : lists[node]) {
          const float value = values[other * columns + i];
          sum += gcn ? root(other) * value : value;
        }
        sum = weight * sum;
        if (gcn) sum += root(node) * root(node) * values[node * columns + i];
      }
    }
    return sums;
  }

  struct Result {
    std::vector<float> sums;
    std::vector<float> own;
    double progress = 0;
  };
  Result sum(const NeighborSumsOptions& options, uint64_t limit_bytes) const {
    const graph::Store store = graph::open(folder / "a.plim");
    memory::Ledger ledger(limit_bytes);
    Result result;
    sum_neighbors(store, options, ledger,
                  {.on_sums =
                       [&](const Matrix& sums, const Matrix& own) {
                         result.sums.insert(result.sums.end(), sums.data,
                                            sums.data + sums.rows * sums.columns);
                         result.own.insert(result.own.end(), own.data,
                                           own.data + own.rows * own.columns);
                       },
                   .on_progress = [&](double share) { result.progress += share; }});
    EXPECT_EQ(ledger.used_bytes(), 0U);
    return result;
  }
  uint64_t least_bytes(unsigned threads) const {
    return neighbor_sums_bytes(graph::open(folder / "a.plim").meta(), threads);
  }

  const uint64_t columns;
  const Lists lists;
  TempFolder folder;
  std::vector<float> values;
};

TEST(NeighborSums, AreThoseOfTheListsWithAnyMemory) {
  for (const uint64_t columns : {1, 19, 130}) {
    for (const bool half : {true, false}) {
      const SummedStore store(sample::random_lists(20000, 12, columns), columns, half);
      for (const Weighting weighting : {Weighting::mean, Weighting::gcn_full}) {
        const std::vector<float> expected = store.expected(weighting);
        for (const uint64_t bytes : {store.least_bytes(3), store.least_bytes(3) + kMiB, kGiB}) {
          const auto result = store.sum({.weighting = weighting, .own = true, .threads = 3}, bytes);
          EXPECT_TRUE(result.sums == expected) << columns << " columns, " << bytes << " bytes";
          EXPECT_TRUE(result.own == store.values) << columns << " columns, " << bytes << " bytes";
          EXPECT_NEAR(result.progress, 1, 1e-9);
        }
      }
    }
  }
}

TEST(NeighborSums, SpreadAListThatDoesNotFitOverChunks) {
  const SummedStore store(sample::random_lists(900'000, 1, 3), 1, true);
  ASSERT_GT(store.lists[0].size() * sizeof(uint32_t), 3 * kMiB);
  const auto result = store.sum({.weighting = Weighting::mean, .threads = 2}, store.least_bytes(2));
  EXPECT_TRUE(result.sums == store.expected(Weighting::mean));
  EXPECT_TRUE(result.own.empty());
}

TEST(NeighborSums, OfANodeWithoutNeighborsAreZero) {
  const SummedStore store({{}, {0}, {}}, 2, false);
  EXPECT_TRUE(store.sum({}, kGiB).sums == store.expected(Weighting::mean));
}

TEST(NeighborSums, RefuseDamagedLists) {
  const auto fails_with = [](const std::string& name, auto damage) {
    const SummedStore store(sample::random_lists(5000, 12, 1), 4, true);
    damage(store.folder / "a.plim");
    try {
      store.sum({.threads = 2}, kGiB);
      FAIL() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::store);
      EXPECT_THAT(error.what(), testing::HasSubstr(name));
    }
  };
  fails_with("neighbors.u32: it names node 5000 of 5000", [](const auto& folder) {
    sample::overwrite<uint32_t>(folder / "neighbors.u32", 4998, 5000);
  });
  fails_with("is not in ascending order", [](const auto& folder) {
    sample::overwrite<uint32_t>(folder / "neighbors.u32", 100, 6000);
  });
  fails_with("offsets.u64: list 7 ends at 18446744073709551615", [](const auto& folder) {
    sample::overwrite<uint64_t>(folder / "offsets.u64", 8, UINT64_MAX);
  });
  fails_with("offsets.u64: the first list begins at 3",
             [](const auto& folder) { sample::overwrite<uint64_t>(folder / "offsets.u64", 0, 3); });
}

}  // namespace
}  // namespace plimsoll::batch
