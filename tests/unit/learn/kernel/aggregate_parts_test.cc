// A sum that is made in several calls has the bits of one made in a single call, wherever its lists
// are cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernel/kernels.h"
#include "random_rows.h"

namespace plimsoll::kernel {
namespace {

constexpr uint32_t kDestinations = 23;
constexpr uint32_t kSources = 50;

// One call for the edges up to each cut, and one for the rest. A list that a cut ends is left open:
// the next call begins with it.
void aggregate_in_parts(const Kernels& kernels, Aggregate task, const std::set<uint64_t>& cuts) {
  const uint64_t last = task.last;
  for (const uint64_t cut : cuts) {
    if (cut <= task.offsets[task.first] || cut > task.offsets[last]) continue;
    uint64_t open = task.first;
    while (open + 1 < last && task.offsets[open + 1] < cut) ++open;
    task.last = open + 1;
    task.to_edge = cut;
    kernels.aggregate(task);
    task.first = open;
    task.from_edge = cut;
  }
  task.last = last;
  task.to_edge = UINT64_MAX;
  kernels.aggregate(task);
}

class AggregateInParts : public testing::TestWithParam<uint32_t> {
 protected:
  // With any choice of nodes and scales.
  Aggregate task_of(unsigned choice, const OwnedRows& owned) const {
    return {.rows = owned.rows,
            .nodes = (choice & 1) != 0 ? nodes_.data() : nullptr,
            .offsets = lists_.offsets.data(),
            .indices = lists_.indices.data(),
            .destination_scale = (choice & 2) != 0 ? destination_scale_.data() : nullptr,
            .source_scale = (choice & 4) != 0 ? source_scale_.data() : nullptr,
            .self_scale = (choice & 8) != 0 ? self_scale_.data() : nullptr,
            .last = kDestinations};
  }
  void expect_same_in_parts(Aggregate task, const std::set<uint64_t>& cuts,
                            const std::string& what) const {
    for (const Kernels* kernels : all_kernels()) {
      std::vector<float> whole(uint64_t{kDestinations} * task.rows.columns, kUntouched);
      std::vector<float> parts = whole;
      task.out = whole.data();
      kernels->aggregate(task);
      task.out = parts.data();
      aggregate_in_parts(*kernels, task, cuts);
      expect_same_bits(parts, whole, std::string(kernels->name) + ", " + what);
    }
  }
  std::set<uint64_t> random_cuts(uint64_t count, uint64_t seed) const {
    std::set<uint64_t> cuts;
    for (uint64_t i = 0; i < count; ++i) {
      cuts.insert(below(RandomStream(9, seed).at(i), lists_.indices.size() + 1));
    }
    return cuts;
  }

  const Lists lists_ = random_lists(kDestinations, kSources);
  const std::vector<float> destination_scale_ = random_scales(kDestinations, 1);
  const std::vector<float> source_scale_ = random_scales(kSources, 2);
  const std::vector<float> self_scale_ = random_scales(kDestinations, 3);
  const std::vector<uint32_t> nodes_ = [] {
    std::vector<uint32_t> nodes(kSources);
    for (uint32_t i = 0; i < kSources; ++i) nodes[i] = (i * 7 + 3) % kSources;
    return nodes;
  }();
};
INSTANTIATE_TEST_SUITE_P(Columns, AggregateInParts, kColumnCounts, columns_name);

TEST_P(AggregateInParts, HasTheSameBitsWithOneCutAnywhere) {
  for (const bool half : {true, false}) {
    const OwnedRows owned = random_rows({kSources, GetParam(), half, half ? 6U : 0U});
    for (uint64_t cut = 0; cut <= lists_.indices.size(); ++cut) {
      expect_same_in_parts(task_of(15, owned), {cut}, "cut at " + std::to_string(cut));
      expect_same_in_parts(task_of(0, owned), {cut}, "plain, cut at " + std::to_string(cut));
    }
  }
}

TEST_P(AggregateInParts, HasTheSameBitsWithACutAtEveryEdge) {
  std::vector<uint64_t> all(lists_.indices.size() + 1);
  std::iota(all.begin(), all.end(), 0);
  for (const bool half : {true, false}) {
    const OwnedRows owned = random_rows({kSources, GetParam(), half});
    for (unsigned choice = 0; choice < 16; ++choice) {
      expect_same_in_parts(task_of(choice, owned), {all.begin(), all.end()},
                           "choice " + std::to_string(choice));
    }
  }
}

TEST_P(AggregateInParts, HasTheSameBitsWithRandomCuts) {
  for (const bool half : {true, false}) {
    const OwnedRows owned = random_rows({kSources, GetParam(), half}, /*with_infinity=*/true);
    for (unsigned choice = 0; choice < 16; ++choice) {
      for (uint64_t seed = 0; seed < 4; ++seed) {
        expect_same_in_parts(task_of(choice, owned), random_cuts(1 + 3 * seed, seed),
                             "choice " + std::to_string(choice));
      }
    }
  }
}

TEST_P(AggregateInParts, HasTheSameBitsWithinARangeOfItsRows) {
  const OwnedRows owned = random_rows({kSources, GetParam(), true});
  Aggregate task = task_of(15, owned);
  task.first = 2;  // the longest
  task.last = 7;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    expect_same_in_parts(task, random_cuts(5, seed), "seed " + std::to_string(seed));
  }
}

// Before its end, a sum is the plain sum of what was added: no scale, no row of its own.
TEST_P(AggregateInParts, LeavesAnOpenListWithoutScaleAndOwnRow) {
  const OwnedRows owned = random_rows({kSources, GetParam(), false});
  const uint32_t first = lists_.offsets[2];
  const uint32_t end = lists_.offsets[3];
  ASSERT_EQ(end - first, 40U);
  for (const uint32_t cut : {first + 1, first + 20, end}) {
    for (const Kernels* kernels : all_kernels()) {
      std::vector<float> out(uint64_t{kDestinations} * GetParam(), kUntouched);
      std::vector<float> expected = out;
      Aggregate task = task_of(15, owned);
      task.first = 2;
      task.last = 3;
      task.to_edge = cut;
      task.out = out.data();
      kernels->aggregate(task);
      for (uint32_t c = 0; c < GetParam(); ++c) {
        float sum = 0;
        for (uint32_t e = first; e < cut; ++e) {
          const uint32_t source = lists_.indices[e];
          sum += source_scale_[source] * owned.value(nodes_[source], c);
        }
        expected[2ULL * GetParam() + c] = sum;
      }
      expect_same_bits(out, expected, kernels->name);
    }
  }
}

}  // namespace
}  // namespace plimsoll::kernel
