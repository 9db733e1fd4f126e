// Every instruction set against the plainest loop, bit for bit.
#include "kernel/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "random_rows.h"

namespace plimsoll::kernel {
namespace {

TEST(Kernels, TheBestOfThemIsOneOfThem) {
  ASSERT_NE(plain_kernels(), nullptr);
  std::set<std::string> names;
  for (const Kernels* kernels : all_kernels()) names.insert(kernels->name);
  EXPECT_EQ(names.size(), all_kernels().size());
  EXPECT_TRUE(names.contains(best().name));
}

TEST(Gather, ConvertsEveryHalf) {
  std::vector<uint16_t> halves(65536);
  for (uint32_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  constexpr uint32_t kColumns = 32;  // whole vectors of every width
  std::vector<uint32_t> nodes(halves.size() / kColumns);
  for (uint32_t i = 0; i < nodes.size(); ++i) nodes[i] = i;
  for (const uint32_t columns : {kColumns, 1U}) {  // 1: converted one by one
    nodes.resize(halves.size() / columns);
    for (uint32_t i = 0; i < nodes.size(); ++i) nodes[i] = i;
    const Rows rows = {.data = reinterpret_cast<const unsigned char*>(halves.data()),
                       .row_bytes = columns * sizeof(uint16_t),
                       .count = nodes.size(),
                       .columns = columns,
                       .half = true};
    for (const Kernels* kernels : all_kernels()) {
      std::vector<float> out(halves.size());
      kernels->gather(
          {.rows = rows, .nodes = nodes.data(), .out = out.data(), .last = nodes.size()});
      for (uint32_t i = 0; i < halves.size(); ++i) {
        if (is_half_nan(halves[i])) {
          ASSERT_TRUE(std::isnan(out[i])) << kernels->name << " " << i;
        } else {
          ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(half_value(halves[i])))
              << kernels->name << " " << i;
        }
      }
    }
  }
}

TEST(Gather, LeavesTheBitsOfSinglesAlone) {
  const std::vector<float> values = {0.0F,      -0.0F,      1e-45F, -1e-40F,
                                     kInfinity, -kInfinity, kNan,   1.5F};
  std::vector<float> rows;
  for (int i = 0; i < 5; ++i) rows.insert(rows.end(), values.begin(), values.end());
  const std::vector<uint32_t> nodes = {0};
  for (uint32_t columns = 1; columns <= rows.size(); ++columns) {
    for (const Kernels* kernels : all_kernels()) {
      std::vector<float> out(columns);
      kernels->gather({.rows = {.data = reinterpret_cast<const unsigned char*>(rows.data()),
                                .row_bytes = columns * sizeof(float),
                                .count = 1,
                                .columns = columns},
                       .nodes = nodes.data(),
                       .out = out.data(),
                       .last = 1});
      expect_same_bits(out, {rows.begin(), rows.begin() + columns}, kernels->name);
    }
  }
}

class GatherOfColumns : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Columns, GatherOfColumns, kColumnCounts, columns_name);

class AggregateOfColumns : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Columns, AggregateOfColumns, kColumnCounts, columns_name);

TEST_P(GatherOfColumns, TakesTheRowsOfItsNodesAndTouchesNoOther) {
  const uint32_t columns = GetParam();
  const std::vector<uint32_t> nodes = {4, 4, 0, 39, 17, 1, 2,  3,  5,  39, 38, 0, 7, 8,
                                       9, 9, 9, 10, 11, 4, 12, 13, 14, 15, 16, 1, 0, 39};
  for (const bool half : {true, false}) {
    for (const uint64_t padding_bytes : {0U, 8U}) {
      const OwnedRows owned = random_rows({40, columns, half, padding_bytes}, true);
      for (const auto& [first, last] :
           {std::pair<uint64_t, uint64_t>{0, nodes.size()}, {3, 20}, {5, 5}}) {
        std::vector<float> expected(nodes.size() * columns, kUntouched);
        for (uint64_t i = first; i < last; ++i) {
          for (uint32_t c = 0; c < columns; ++c)
            expected[i * columns + c] = owned.value(nodes[i], c);
        }
        for (const Kernels* kernels : all_kernels()) {
          std::vector<float> out(nodes.size() * columns, kUntouched);
          kernels->gather({.rows = owned.rows,
                           .nodes = nodes.data(),
                           .out = out.data(),
                           .first = first,
                           .last = last});
          expect_same_bits(out, expected, kernels->name);
        }
      }
    }
  }
}

// The definition in kernels.h, one value at a time.
std::vector<float> reference_sums(const Aggregate& task, const OwnedRows& owned, uint64_t rows) {
  const uint32_t columns = owned.rows.columns;
  std::vector<float> out(rows * columns, kUntouched);
  const auto row = [&](uint64_t i) { return task.nodes == nullptr ? i : task.nodes[i]; };
  for (uint64_t i = task.first; i < task.last; ++i) {
    for (uint32_t c = 0; c < columns; ++c) {
      float sum = 0;
      for (uint32_t e = task.offsets[i]; e < task.offsets[i + 1]; ++e) {
        const uint32_t source = task.indices[e];
        const float value = owned.value(row(source), c);
        sum += task.source_scale == nullptr ? value : task.source_scale[source] * value;
      }
      if (task.destination_scale != nullptr) sum *= task.destination_scale[i];
      if (task.self_scale != nullptr && i < task.self_count) {
        sum += task.self_scale[i] * owned.value(row(i), c);
      }
      out[i * columns + c] = sum;
    }
  }
  return out;
}

void expect_reference_sums(Aggregate task, const OwnedRows& owned, uint64_t rows,
                           const std::string& what) {
  task.rows = owned.rows;
  const std::vector<float> expected = reference_sums(task, owned, rows);
  for (const Kernels* kernels : all_kernels()) {
    std::vector<float> out(expected.size(), kUntouched);
    task.out = out.data();
    kernels->aggregate(task);
    expect_same_bits(out, expected, std::string(kernels->name) + ", " + what);
  }
}

constexpr uint32_t kDestinations = 23;
constexpr uint32_t kSources = 50;

TEST_P(AggregateOfColumns, AddsUpInOrderWithAnyOfItsScales) {
  const Lists lists = random_lists(kDestinations, kSources);
  const auto destination_scale = random_scales(kDestinations, 1);
  const auto source_scale = random_scales(kSources, 2);
  const auto self_scale = random_scales(kDestinations, 3);
  std::vector<uint32_t> nodes(kSources);
  for (uint32_t i = 0; i < kSources; ++i) nodes[i] = (i * 7 + 3) % kSources;
  for (const bool half : {true, false}) {
    const OwnedRows owned = random_rows({kSources, GetParam(), half, half ? 6U : 0U});
    for (unsigned choice = 0; choice < 16; ++choice) {
      const Aggregate task = {
          .nodes = (choice & 1) != 0 ? nodes.data() : nullptr,
          .offsets = lists.offsets.data(),
          .indices = lists.indices.data(),
          .destination_scale = (choice & 2) != 0 ? destination_scale.data() : nullptr,
          .source_scale = (choice & 4) != 0 ? source_scale.data() : nullptr,
          .self_scale = (choice & 8) != 0 ? self_scale.data() : nullptr,
          .last = kDestinations};
      expect_reference_sums(task, owned, kDestinations, "choice " + std::to_string(choice));
    }
  }
}

TEST_P(AggregateOfColumns, GivesASelfTermToTheFirstOnly) {
  const Lists lists = random_lists(kDestinations, kSources);
  const auto self_scale = random_scales(kDestinations, 3);
  for (const bool half : {true, false}) {
    const OwnedRows owned = random_rows({kSources, GetParam(), half});
    for (const uint64_t self_count :
         {uint64_t{0}, uint64_t{1}, uint64_t{9}, uint64_t{kDestinations}}) {
      // Beyond self_count there are no scales: who reads on reads outside.
      std::vector<float> scales = self_scale;
      scales.resize(std::max<uint64_t>(self_count, 1));
      scales.shrink_to_fit();
      expect_reference_sums({.offsets = lists.offsets.data(),
                             .indices = lists.indices.data(),
                             .self_scale = scales.data(),
                             .self_count = self_count,
                             .last = kDestinations},
                            owned, kDestinations, "self_count " + std::to_string(self_count));
    }
  }
}

TEST_P(AggregateOfColumns, TouchesOnlyTheRowsOfItsRange) {
  const Lists lists = random_lists(kDestinations, kSources);
  for (const bool half : {true, false}) {
    const OwnedRows owned = random_rows({kSources, GetParam(), half}, true);
    for (const auto& [first, last] :
         {std::pair<uint64_t, uint64_t>{0, 1}, {2, 7}, {7, 7}, {20, 23}}) {
      expect_reference_sums({.offsets = lists.offsets.data(),
                             .indices = lists.indices.data(),
                             .first = first,
                             .last = last},
                            owned, kDestinations, "rows from " + std::to_string(first));
    }
  }
}

TEST(Aggregate, OfEmptyListsIsZeroOrTheSelfTermAlone) {
  const std::vector<uint32_t> offsets(4, 0);
  const std::vector<float> ones(3, 1.0F);
  for (const uint32_t columns : {3U, 40U}) {
    const OwnedRows owned = random_rows({3, columns, true});
    for (const Kernels* kernels : all_kernels()) {
      std::vector<float> out(3ULL * columns, kUntouched);
      Aggregate task = {
          .rows = owned.rows, .offsets = offsets.data(), .out = out.data(), .last = 3};
      kernels->aggregate(task);
      expect_same_bits(out, std::vector<float>(3ULL * columns, 0.0F), kernels->name);
      task.self_scale = ones.data();
      kernels->aggregate(task);
      for (uint32_t i = 0; i < 3 * columns; ++i) {
        ASSERT_EQ(out[i], owned.value(i / columns, i % columns)) << kernels->name;
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll::kernel
