#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kernel/kernels.h"
#include "random_rows.h"

namespace plimsoll::kernel {
namespace {

class ReluDropoutOfColumns : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Columns, ReluDropoutOfColumns, kColumnCounts, columns_name);

constexpr uint32_t threshold_of(double share) { return static_cast<uint32_t>(share * 0x1p32); }

bool is_kept(const ReluDropout& task, uint32_t node, uint32_t column) {
  const uint32_t row_key = mix32(node ^ task.key) + task.key_high;
  return mix32(row_key + column * kColumnStep) >= task.threshold;
}

TEST_P(ReluDropoutOfColumns, FollowsItsDefinition) {
  const uint32_t columns = GetParam();
  const std::vector<uint32_t> nodes = {3, 1, 4, 1'000'000'000, 5, 9, 2, 6};
  const OwnedRows owned = random_rows({nodes.size(), columns, false});
  for (const auto& [first, last] : {std::pair<uint64_t, uint64_t>{0, nodes.size()}, {2, 5}}) {
    ReluDropout task = {.nodes = nodes.data(),
                        .columns = columns,
                        .key = 0xdeadbeef,
                        .key_high = 0x12345678,
                        .threshold = threshold_of(0.3),
                        .scale = 1 / 0.7F,
                        .first = first,
                        .last = last};
    std::vector<float> plain;
    for (const Kernels* kernels : all_kernels()) {
      std::vector<float> x(nodes.size() * columns);
      std::memcpy(x.data(), owned.bytes.data(), owned.bytes.size());
      task.x = x.data();
      kernels->relu_dropout(task);
      for (uint64_t i = 0; i < x.size(); ++i) {
        const uint64_t row = i / columns;
        const auto column = static_cast<uint32_t>(i % columns);
        float expected = owned.value(row, column);
        if (row >= first && row < last) {
          const bool kept = is_kept(task, nodes[row], column) && expected > 0;
          expected = kept ? task.scale * expected : 0;
        }
        ASSERT_EQ(x[i], expected) << kernels->name << ", value " << i;
      }
      if (plain.empty()) plain = x;
      expect_same_bits(x, plain, kernels->name);
    }
  }
}

// A node's row comes out the same whatever stands around it and wherever it stands.
TEST_P(ReluDropoutOfColumns, DependsOnTheNodeAlone) {
  const uint32_t columns = GetParam();
  const std::vector<uint32_t> nodes = {100, 7, 8, 9, 7};
  const ReluDropout common = {
      .columns = columns, .key = 1, .threshold = threshold_of(0.5), .scale = 2};
  for (const Kernels* kernels : all_kernels()) {
    const auto rows_of = [&](const std::vector<uint32_t>& some) {
      std::vector<float> x(some.size() * columns, 1.0F);
      ReluDropout task = common;
      task.x = x.data();
      task.nodes = some.data();
      task.last = some.size();
      kernels->relu_dropout(task);
      return x;
    };
    const std::vector<float> alone = rows_of({7});
    const std::vector<float> among = rows_of(nodes);
    for (const uint64_t row : {1U, 4U}) {
      expect_same_bits({among.begin() + static_cast<ptrdiff_t>(row * columns),
                        among.begin() + static_cast<ptrdiff_t>((row + 1) * columns)},
                       alone, kernels->name);
    }
  }
}

// Which of nodes x columns values survive, as 0 and 1.
std::vector<float> mask(const Kernels& kernels, ReluDropout task, uint32_t first_node,
                        uint32_t rows) {
  std::vector<uint32_t> nodes(rows);
  for (uint32_t i = 0; i < rows; ++i) nodes[i] = first_node + i;
  std::vector<float> x(uint64_t{rows} * task.columns, 1.0F);
  task.x = x.data();
  task.nodes = nodes.data();
  task.last = rows;
  kernels.relu_dropout(task);
  return x;
}

// Of n independent draws with probability p, the share stays within five standard deviations.
void expect_share(double actual, double p, uint64_t n, const std::string& what) {
  EXPECT_NEAR(actual, p, 5 * std::sqrt(p * (1 - p) / static_cast<double>(n))) << what;
}

double share_of_equal(const std::vector<float>& a, const std::vector<float>& b) {
  uint64_t equal = 0;
  for (size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i] ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(a.size());
}

TEST(ReluDropout, KeepsTheShareItWasToldTo) {
  for (const Kernels* kernels : all_kernels()) {
    for (const double dropped : {0.1, 0.5, 0.9}) {
      for (const uint32_t key : {0U, 1U, 77U}) {
        const auto kept = mask(
            *kernels, {.columns = 256, .key = key, .threshold = threshold_of(dropped)}, 1000, 4096);
        double sum = 0;
        for (const float value : kept) sum += value;
        expect_share(sum / static_cast<double>(kept.size()), 1 - dropped, kept.size(),
                     kernels->name);
      }
    }
  }
}

TEST(ReluDropout, KeepsAllWhereNothingIsDropped) {
  for (const Kernels* kernels : all_kernels()) {
    for (const float value : mask(*kernels, {.columns = 33, .key = 5}, 0, 100))
      ASSERT_EQ(value, 1.0F);
  }
}

// At one half, masks that have nothing to do with each other agree in one half of their values.
TEST(ReluDropout, DrawsAnewForEveryKeyNodeAndColumn) {
  constexpr uint32_t kRows = 1024;
  constexpr uint32_t kColumns = 256;
  const ReluDropout task = {
      .columns = kColumns, .key = 1, .key_high = 2, .threshold = threshold_of(0.5)};
  const auto base = mask(best(), task, 0, kRows);
  ReluDropout other = task;
  other.key = 2;
  expect_share(share_of_equal(base, mask(best(), other, kRows, kRows)), 0.5, base.size(), "key");
  other = task;
  other.key_high = 3;
  expect_share(share_of_equal(base, mask(best(), other, 0, kRows)), 0.5, base.size(), "key_high");
  const auto next_nodes = mask(best(), task, 1, kRows);
  expect_share(share_of_equal(base, next_nodes), 0.5, base.size(), "node");
  std::vector<float> next_columns(base.begin() + 1, base.end());
  next_columns.push_back(base.front());
  expect_share(share_of_equal(base, next_columns), 0.5, base.size(), "column");
}

TEST(ReluDropout, LetsNanAndInfinityBeSeen) {
  for (const Kernels* kernels : all_kernels()) {
    std::vector<float> x(40, kNan);
    x[39] = kInfinity;
    const uint32_t node = 3;
    kernels->relu_dropout({.x = x.data(), .nodes = &node, .columns = 40, .last = 1});
    for (size_t i = 0; i < 39; ++i) ASSERT_TRUE(std::isnan(x[i])) << kernels->name;
    EXPECT_EQ(x[39], kInfinity) << kernels->name;
  }
}

TEST(Mix32, GivesDifferentWordsForDifferentWords) {
  std::unordered_set<uint32_t> seen;
  for (uint32_t i = 0; i < 100'000; ++i) {
    seen.insert(mix32(i));
    seen.insert(mix32(~i));
  }
  EXPECT_EQ(seen.size(), 200'000U);
}

}  // namespace
}  // namespace plimsoll::kernel
