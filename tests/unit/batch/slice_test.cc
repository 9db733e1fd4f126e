#include "batch/slice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "small_batch.h"

namespace plimsoll::batch {
namespace {

constexpr uint32_t kUnknown = UINT32_MAX;

struct Style {
  const char* name;
  Assembly assembly;
  std::vector<uint32_t> fanout;
};

const std::vector<Style>& styles() {
  static const std::vector<Style> all = {
      {"Gcn", kGcn, {4, 3, 2}},
      {"GcnSampled", kGcnSampled, {5, 5}},
      {"Sage", kSage, {4, 3, 2}},
      {"Gat", kGat, {4, 3}},
      {"GatOfAll", kGat, {kAll, kAll}},
      {"SageOfOneHop", kSage, {4}},
      {"Mlp", {Input::rows, Weighting::none, true}, {}},
  };
  return all;
}

class SliceOf : public testing::TestWithParam<Style> {
 protected:
  SliceOf() {
    made_ = std::make_unique<MadeBatch>(data_, GetParam().fanout, GetParam().assembly,
                                        every(17, 0, 600), 5);
    whole_ = made_->batch();
    whole_.index = 3;
    whole_.first_seed = 108;
    whole_.before = 8;
    whole_.whole = 8 + whole_.seeds;
    for (uint32_t i = 0; i < whole_.seeds; ++i) labels_.push_back(static_cast<int32_t>(i * 3));
    whole_.labels = labels_;
  }

  SmallData data_{sample::random_lists(600, 12, 2)};
  std::unique_ptr<MadeBatch> made_;
  std::vector<int32_t> labels_;
  Batch whole_;
};

INSTANTIATE_TEST_SUITE_P(Styles, SliceOf, testing::ValuesIn(styles()),
                         [](const auto& param) { return std::string(param.param.name); });

void expect_picked(std::span<const float> part, std::span<const float> whole,
                   std::span<const uint32_t> origin, uint64_t count) {
  if (whole.empty()) {
    EXPECT_TRUE(part.empty());
    return;
  }
  ASSERT_EQ(part.size(), count);
  for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(part[i], whole[origin[i]]);
}

// Walks one block of a slice beside the whole's. `origin` says which of the whole's destinations
// the slice's are, and then the same of the sources: each of those must be met on the way.
void expect_cut(const Block& part, const Block& whole, std::vector<uint32_t>& origin) {
  ASSERT_EQ(part.destinations, origin.size());
  ASSERT_EQ(part.offsets.size(), origin.size() + 1);
  ASSERT_EQ(part.offsets.front(), 0U);
  ASSERT_EQ(part.offsets.back(), part.indices.size());
  std::vector<uint32_t> sources(part.sources, kUnknown);
  std::ranges::copy(origin, sources.begin());
  for (uint32_t i = 0; i < part.destinations; ++i) {
    const uint32_t from = whole.offsets[origin[i]];
    ASSERT_EQ(part.offsets[i + 1] - part.offsets[i], whole.offsets[origin[i] + 1] - from);
    for (uint32_t e = part.offsets[i]; e < part.offsets[i + 1]; ++e) {
      ASSERT_LT(part.indices[e], part.sources);
      uint32_t& source = sources[part.indices[e]];
      const uint32_t expected = whole.indices[from + e - part.offsets[i]];
      if (source == kUnknown) source = expected;
      ASSERT_EQ(source, expected);
    }
  }
  ASSERT_EQ(std::ranges::count(sources, kUnknown), 0) << "sources that nobody needs";
  ASSERT_EQ(std::set(sources.begin(), sources.end()).size(), sources.size());
  ASSERT_NO_FATAL_FAILURE(
      expect_picked(part.destination_scale, whole.destination_scale, origin, part.destinations));
  ASSERT_NO_FATAL_FAILURE(
      expect_picked(part.self_scale, whole.self_scale, origin, part.destinations));
  ASSERT_NO_FATAL_FAILURE(
      expect_picked(part.source_scale, whole.source_scale, sources, part.sources));
  ASSERT_NO_FATAL_FAILURE(expect_edges_by_source(part));
  origin = std::move(sources);
}

void expect_rows(const Matrix& part, const Matrix& whole, std::span<const uint32_t> origin) {
  if (whole.data == nullptr) {
    EXPECT_EQ(part.data, nullptr);
    return;
  }
  ASSERT_EQ(part.rows, origin.size());
  ASSERT_EQ(part.columns, whole.columns);
  for (uint64_t i = 0; i < origin.size(); ++i) {
    ASSERT_EQ(std::memcmp(part.data + i * part.columns, whole.data + origin[i] * whole.columns,
                          part.columns * sizeof(float)),
              0);
  }
}

// Which rows of the whole's input the slice has.
void expect_slice(const Batch& part, const Batch& whole, uint32_t first, uint32_t last,
                  std::vector<uint32_t>& origin) {
  EXPECT_EQ(part.index, whole.index);
  EXPECT_EQ(part.first_seed, whole.first_seed + first);
  EXPECT_EQ(part.before, whole.before + first);
  EXPECT_EQ(part.whole, whole.whole);
  EXPECT_EQ(part.last_part(), last == whole.seeds);
  ASSERT_EQ(part.seeds, last - first);
  EXPECT_TRUE(std::ranges::equal(part.labels, whole.labels.subspan(first, last - first)));
  origin = every(1, first, last);
  ASSERT_EQ(part.blocks.size(), whole.blocks.size());
  for (size_t b = part.blocks.size(); b-- > 0;) {
    ASSERT_NO_FATAL_FAILURE(expect_cut(part.blocks[b], whole.blocks[b], origin));
  }
  ASSERT_EQ(part.nodes.size(), origin.size());
  for (size_t i = 0; i < origin.size(); ++i) ASSERT_EQ(part.nodes[i], whole.nodes[origin[i]]);
  ASSERT_NO_FATAL_FAILURE(expect_rows(part.input, whole.input, origin));
  ASSERT_NO_FATAL_FAILURE(expect_rows(part.own, whole.own, origin));
}

TEST_P(SliceOf, HasWhatItsSeedsNeedAndNothingElse) {
  const uint32_t seeds = whole_.seeds;
  for (const auto& [first, last] : {std::pair{0U, 1U},
                                    {0U, seeds / 2},
                                    {seeds / 2, seeds},
                                    {3U, 4U},
                                    {seeds - 1, seeds},
                                    {0U, seeds},
                                    {5U, 5U}}) {
    const Slice slice(whole_, first, last, data_.ledger);
    std::vector<uint32_t> origin;
    ASSERT_NO_FATAL_FAILURE(expect_slice(slice.batch(), whole_, first, last, origin));
  }
}

TEST_P(SliceOf, CoversTheWholeTogetherWithTheOthers) {
  for (const uint32_t size : {1U, 7U, 10U, whole_.seeds}) {
    std::set<uint32_t> rows;
    uint64_t edges = 0;
    uint64_t seeds = 0;
    for (uint32_t first = 0; first < whole_.seeds; first += size) {
      const uint32_t last = std::min(first + size, whole_.seeds);
      const Slice slice(whole_, first, last, data_.ledger);
      std::vector<uint32_t> origin;
      ASSERT_NO_FATAL_FAILURE(expect_slice(slice.batch(), whole_, first, last, origin));
      rows.insert(origin.begin(), origin.end());
      seeds += slice.batch().seeds;
      if (!whole_.blocks.empty()) edges += slice.batch().blocks.back().indices.size();
    }
    EXPECT_EQ(rows.size(), whole_.input.rows);
    EXPECT_EQ(seeds, whole_.seeds);
    EXPECT_EQ(edges, whole_.blocks.empty() ? 0 : whole_.blocks.back().indices.size());
  }
}

TEST_P(SliceOf, OutlivesTheWhole) {
  std::optional<Slice> slice(std::in_place, whole_, 2, 9, data_.ledger);
  const BatchCopy before(slice->batch());
  made_.reset();
  EXPECT_TRUE(BatchCopy(slice->batch()) == before);
}

TEST_P(SliceOf, LeasesItsMemoryAndGivesItBack) {
  const uint64_t before = data_.ledger.used_bytes();
  {
    const Slice slice(whole_, 0, whole_.seeds, data_.ledger);
    EXPECT_GE(data_.ledger.used_bytes(),
              before + whole_.input.rows * whole_.input.columns * sizeof(float));
  }
  EXPECT_EQ(data_.ledger.used_bytes(), before);
}

TEST(Slice, HasNoLabelsOrEdgesBySourceWhereTheWholeHasNone) {
  SmallData data(sample::random_lists(600, 12, 2));
  MadeBatch made(data, {4, 3}, {Input::rows, Weighting::mean, false}, every(17, 0, 600), 5);
  const Slice slice(made.batch(), 1, 4, data.ledger);
  EXPECT_TRUE(slice.batch().labels.empty());
  for (const Block& block : slice.batch().blocks) {
    EXPECT_TRUE(block.source_offsets.empty());
    EXPECT_TRUE(block.by_source.empty());
    EXPECT_TRUE(block.source_edges.empty());
    EXPECT_EQ(block.destination_scale.size(), block.destinations);
  }
}

TEST(Slice, OfASliceIsTheSliceOfTheWhole) {
  SmallData data(sample::random_lists(600, 12, 2));
  MadeBatch made(data, {4, 3, 2}, kGcn, every(17, 0, 600), 5);
  const Slice outer(made.batch(), 4, 20, data.ledger);
  const Slice inner(outer.batch(), 3, 8, data.ledger);
  const Slice direct(made.batch(), 7, 12, data.ledger);
  EXPECT_TRUE(BatchCopy(inner.batch()) == BatchCopy(direct.batch()));
}

}  // namespace
}  // namespace plimsoll::batch
