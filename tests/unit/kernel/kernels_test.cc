// Every instruction set against the plainest loop, bit for bit.
#include "kernel/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/random.h"

namespace plimsoll::kernel {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kUntouched = -12345.0F;

// Those that this program and CPU have.
std::vector<const Kernels*> all_kernels() {
  std::vector<const Kernels*> kernels;
  for (const Kernels* each : {plain_kernels(), avx2_kernels(), avx512_kernels()}) {
    if (each != nullptr) kernels.push_back(each);
  }
  return kernels;
}

// By the definition of the format; NaN has no bits of its own here.
float half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int mantissa = bits & 0x3ff;
  float magnitude = 0;
  if (exponent == 31) {
    magnitude = mantissa == 0 ? kInfinity : kNan;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

bool is_half_nan(uint16_t bits) { return (bits & 0x7fffU) > 0x7c00U; }

// Rows in exactly as many bytes as they need, so that a sanitizer sees whoever reads beyond.
struct OwnedRows {
  std::vector<unsigned char> bytes;
  Rows rows;

  float value(uint64_t row, uint32_t column) const {
    const unsigned char* at = bytes.data() + row * rows.row_bytes;
    if (rows.half) {
      uint16_t half = 0;
      std::memcpy(&half, at + column * sizeof half, sizeof half);
      return half_value(half);
    }
    float single = 0;
    std::memcpy(&single, at + column * sizeof single, sizeof single);
    return single;
  }
};

struct RowShape {
  uint64_t count = 0;
  uint32_t columns = 0;
  bool half = false;
  uint64_t padding_bytes = 0;
};

// Values of many magnitudes, so that another order of additions gives other bits; among them
// subnormals, zeros of both signs and, where asked for, infinity.
OwnedRows random_rows(const RowShape& shape, bool with_infinity = false) {
  const uint64_t value_bytes = shape.half ? 2 : 4;
  OwnedRows owned;
  owned.rows = {.row_bytes = shape.columns * value_bytes + shape.padding_bytes,
                .count = shape.count,
                .columns = shape.columns,
                .half = shape.half};
  owned.bytes.assign(shape.count * owned.rows.row_bytes - shape.padding_bytes, 0xff);
  owned.rows.data = owned.bytes.data();
  const RandomStream stream(shape.columns, shape.half ? 1 : 0);
  for (uint64_t i = 0; i < shape.count * shape.columns; ++i) {
    unsigned char* at = owned.bytes.data() + i / shape.columns * owned.rows.row_bytes +
                        i % shape.columns * value_bytes;
    const uint64_t draw = stream.at(i);
    const uint64_t kind = draw >> 32 & 0x3f;
    if (shape.half) {
      auto bits = static_cast<uint16_t>(draw);
      if (kind < 3) bits &= 0x83ffU;                     // a subnormal
      if (kind == 3) bits &= 0x8000U;                    // a zero
      if ((bits & 0x7c00U) == 0x7c00U) bits &= 0xbfffU;  // a number
      if (with_infinity && kind == 4) bits = 0x7c00U;
      std::memcpy(at, &bits, sizeof bits);
    } else {
      const int exponent = static_cast<int>(draw >> 48 & 0x1f) - 16;
      auto value = static_cast<float>(std::ldexp(unit_interval(draw) - 0.5, exponent));
      if (kind < 3) value = std::copysign(1e-40F, value);
      if (kind == 3) value = std::copysign(0.0F, value);
      if (with_infinity && kind == 4) value = kInfinity;
      std::memcpy(at, &value, sizeof value);
    }
  }
  return owned;
}

// Says where they differ first, and in which bits.
void expect_same_bits(const std::vector<float>& actual, const std::vector<float>& expected,
                      const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(expected[i]))
        << what << ", value " << i << ": " << actual[i] << ", expected " << expected[i];
  }
}

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

// Below, at and above the width of every vector and tile, and those of known data sets.
const auto kColumnCounts =
    testing::Values(1, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 128, 129, 172, 256, 300);
std::string columns_name(const testing::TestParamInfo<uint32_t>& param) {
  return std::to_string(param.param);
}

class GatherOfColumns : public testing::TestWithParam<uint32_t> {};
class AggregateOfColumns : public testing::TestWithParam<uint32_t> {};
class ReluDropoutOfColumns : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Columns, GatherOfColumns, kColumnCounts, columns_name);
INSTANTIATE_TEST_SUITE_P(Columns, AggregateOfColumns, kColumnCounts, columns_name);
INSTANTIATE_TEST_SUITE_P(Columns, ReluDropoutOfColumns, kColumnCounts, columns_name);

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

// Sources of a graph: lists of 0 to 40, some empty, the last one too.
struct Lists {
  std::vector<uint32_t> offsets = {0};
  std::vector<uint32_t> indices;
};

Lists random_lists(uint32_t destinations, uint32_t sources) {
  const RandomStream stream(5, destinations);
  uint64_t draw = 0;
  Lists lists;
  for (uint32_t i = 0; i < destinations; ++i) {
    uint64_t length = below(stream.at(draw++), 8);
    if (i == 2) length = 40;
    if (i == 5 || i + 1 == destinations) length = 0;
    for (uint64_t k = 0; k < length; ++k) {
      lists.indices.push_back(static_cast<uint32_t>(below(stream.at(draw++), sources)));
    }
    lists.offsets.push_back(static_cast<uint32_t>(lists.indices.size()));
  }
  return lists;
}

std::vector<float> random_scales(uint64_t count, uint64_t seed) {
  std::vector<float> scales(count);
  for (uint64_t i = 0; i < count; ++i) {
    scales[i] = static_cast<float>(unit_interval(RandomStream(6, seed).at(i)) * 4 - 2);
  }
  return scales;
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
