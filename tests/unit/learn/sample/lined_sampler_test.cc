// Wherever the lines stand, the lists are the same, and so is what is drawn from them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "drawn.h"
#include "graph/store.h"
#include "io/lined_file.h"
#include "sample/sampler.h"
#include "small_graph.h"
#include "temp_folder.h"

namespace plimsoll::sample {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kAll = UINT32_MAX;
constexpr uint64_t kStep = io::kLineStepBytes;
constexpr uint32_t kNodes = 300'000;                     // so that offsets reach beyond a step ...
constexpr uint32_t kAtLine = kStep / sizeof(uint64_t);   // ... after those of this many nodes,
constexpr uint64_t kMostLists = 7;                       // and neighbours beyond two
constexpr uint64_t kAtPlace = kStep / sizeof(uint32_t);  // of the neighbours file

// Written once: the disk is the slowest part of these tests.
class LinedTopology : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    temp_ = new TempFolder;
    lists_ = new Lists(random_lists(kNodes, kMostLists, 12));
    write_store(*temp_ / "store", {.lists = *lists_});
  }
  static void TearDownTestSuite() {
    delete temp_;
    delete lists_;
  }
  static fs::path folder() { return *temp_ / "store"; }

  Topology load(const TopologyLines& lines) {
    return load_topology(graph::open(folder()), ledger_, lines, 2, [](uint64_t) {});
  }
  Drawn draw(const Topology& topology, const SamplerOptions& options,
             const std::vector<uint32_t>& seeds, uint64_t key) {
    Sampler sampler(topology, options, ledger_);
    Neighborhood neighborhood(ledger_, options.fanout.size());
    sampler.sample(seeds, key, neighborhood);
    return copy_of(neighborhood, options.all_degrees);
  }

  static inline TempFolder* temp_ = nullptr;
  static inline Lists* lists_ = nullptr;
  memory::Ledger ledger_{kGiB};
};

// On both sides of the offsets' line and across it, at the ends, and everywhere else; the hub is
// node 0.
std::vector<uint32_t> seeds() {
  std::vector<uint32_t> nodes = {kAtLine - 2, kAtLine - 1, kAtLine, kAtLine + 1, kNodes - 1, 0};
  for (uint32_t node = 5; node + 1 < kNodes; node += 4567) nodes.push_back(node);
  return nodes;
}

// Nothing, a part and all of either file.
std::vector<TopologyLines> all_lines() {
  std::vector<TopologyLines> lines;
  for (const uint64_t offsets : {uint64_t{0}, kStep, UINT64_MAX}) {
    for (const uint64_t neighbors : {uint64_t{0}, kStep, 2 * kStep, UINT64_MAX}) {
      lines.push_back({offsets, neighbors});
    }
  }
  return lines;
}
std::string describe(const TopologyLines& lines) {
  return "lines at " + std::to_string(lines.offsets_bytes) + " and " +
         std::to_string(lines.neighbors_bytes);
}

using SamplerWithLines = LinedTopology;

TEST_F(SamplerWithLines, DrawsAsFromMemory) {
  const Topology resident = topology_of(*lists_, ledger_);
  ASSERT_GT(resident.edges() * sizeof(uint32_t), 2 * kStep);
  const std::vector<std::vector<uint32_t>> fanouts = {{10, 5}, {3, 2, 2}, {100, 3},
                                                      {kAll},  {1},       {}};
  for (const TopologyLines& lines : all_lines()) {
    SCOPED_TRACE(describe(lines));
    const Topology lined = load(lines);
    ASSERT_EQ(lined.offsets().line_bytes(), std::min(lines.offsets_bytes, lined.offsets().bytes()));
    ASSERT_EQ(lined.neighbors().line_bytes(),
              std::min(lines.neighbors_bytes, lined.neighbors().bytes()));
    for (const auto& fanout : fanouts) {
      for (const bool all_degrees : {false, true}) {
        const SamplerOptions options = {
            .fanout = fanout,
            .all_degrees = all_degrees,
            .draw = all_degrees ? recipe::Draw::labor : recipe::Draw::uniform};
        EXPECT_EQ(draw(lined, options, seeds(), 1), draw(resident, options, seeds(), 1));
      }
    }
  }
}

TEST_F(SamplerWithLines, DrawsAsFromMemoryWithLittleRoomToReadInto) {
  const Topology resident = topology_of(*lists_, ledger_);
  const Drawn expected = draw(resident, {.fanout = {20, 5}}, seeds(), 3);
  for (const TopologyLines& lines : all_lines()) {
    SCOPED_TRACE(describe(lines));
    const Topology lined = load(lines);
    for (const auto method : {io::ReadMethod::automatic, io::ReadMethod::threads}) {
      const SamplerOptions options = {
          .fanout = {20, 5}, .reading = {.method = method, .depth = 4, .room_bytes = 20'000}};
      EXPECT_EQ(draw(lined, options, seeds(), 3), expected);
    }
  }
}

TEST_F(SamplerWithLines, HasTheBoundsAndNeighboursOfAnyNode) {
  const FlatLists flat = flatten(*lists_);
  std::vector<uint32_t> nodes = seeds();
  nodes.push_back(nodes.front());  // a node may stand twice
  std::vector<uint64_t> places = {0,
                                  kAtPlace - 1,
                                  kAtPlace,
                                  2 * kAtPlace - 1,
                                  2 * kAtPlace,
                                  0,
                                  kAtPlace + 1,
                                  flat.neighbors.size() - 1};
  for (uint64_t place = 77; place < flat.neighbors.size(); place += 10'007) places.push_back(place);
  for (const TopologyLines& lines : all_lines()) {
    SCOPED_TRACE(describe(lines));
    const Topology lined = load(lines);
    ListReader reader(lined, ledger_, {});
    std::vector<ListBounds> bounds(nodes.size());
    reader.bounds(nodes, bounds.data());
    for (size_t i = 0; i < nodes.size(); ++i) {
      EXPECT_EQ(bounds[i].begin, flat.offsets[nodes[i]]);
      EXPECT_EQ(bounds[i].degree, (*lists_)[nodes[i]].size());
    }
    std::vector<uint32_t> values(places.size());
    reader.neighbors(places, values.data());
    for (size_t i = 0; i < places.size(); ++i) EXPECT_EQ(values[i], flat.neighbors[places[i]]);
  }
}

using LinesThatMove = LinedTopology;

TEST_F(LinesThatMove, ChangeNoDraw) {
  const Topology resident = topology_of(*lists_, ledger_);
  const Topology lined = load({});
  const SamplerOptions options = {.fanout = {20, 5}, .all_degrees = true};
  Sampler sampler(lined, options, ledger_);  // made while all was resident
  Neighborhood neighborhood(ledger_, 2);
  for (uint64_t key = 0; key < 8; ++key) {
    sampler.sample(seeds(), key, neighborhood);
    EXPECT_EQ(copy_of(neighborhood, true), draw(resident, options, seeds(), key));
    (key % 2 == 0 ? lined.neighbors() : lined.offsets()).lower_by(1);
  }
  EXPECT_EQ(lined.neighbors().line_bytes(), 0U);
  EXPECT_EQ(lined.offsets().line_bytes(), 0U);
}

TEST_F(LinesThatMove, LeaveNothingToReadWhereAllIsResident) {
  const Topology lined = load({});
  Sampler sampler(lined, {.fanout = {20, 5}}, ledger_);
  Neighborhood neighborhood(ledger_, 2);
  sampler.sample(seeds(), 1, neighborhood);
  EXPECT_EQ(sampler.counts().reads, 0U);
  lined.neighbors().lower_by(UINT64_MAX);
  sampler.sample(seeds(), 1, neighborhood);
  EXPECT_GT(sampler.counts().reads, 0U);
}

// Refused at each of the places where it could be, a sampler draws as if nothing had been.
TEST_F(LinesThatMove, DrawAgainAfterARefusedLease) {
  const Topology lined = load({0, 0});
  const SamplerOptions options = {.fanout = {60, 3}, .all_degrees = true};
  const Drawn expected = draw(lined, options, seeds(), 1);
  const std::vector<uint32_t> few = {7, 9, kNodes - 1};
  const Drawn expected_of_few = draw(lined, options, few, 1);
  Neighborhood neighborhood(ledger_, 2);
  int refused = 0;
  for (uint64_t left_bytes = 0; left_bytes < 4 * kMiB; left_bytes += 50 * kKiB) {
    Sampler fresh(lined, options, ledger_);
    {
      const auto rest = ledger_.lease("others", ledger_.available_bytes() - left_bytes);
      try {
        fresh.sample(seeds(), 1, neighborhood);
      } catch (const Error& error) {
        EXPECT_EQ(name(error.kind()), name(ErrorKind::memory)) << error.what();
        ++refused;
      }
    }
    fresh.sample(few, 1, neighborhood);  // smaller: nothing of the larger one may be left
    ASSERT_EQ(copy_of(neighborhood, true), expected_of_few) << left_bytes;
    fresh.sample(seeds(), 1, neighborhood);
    ASSERT_EQ(copy_of(neighborhood, true), expected) << left_bytes;
    neighborhood = Neighborhood(ledger_, 2);
  }
  EXPECT_GT(refused, 10);
}

// A store of its own, which may be damaged.
class DamagedBelowTheLine : public testing::Test {
 protected:
  DamagedBelowTheLine() {
    write_store(folder_, {.lists = lists_});
    topology_.emplace(load_topology(graph::open(folder_), ledger_, {0, 0}, 1, [](uint64_t) {}));
  }
  void sample(uint32_t seed) {
    Sampler(*topology_, {.fanout = {kAll}}, ledger_).sample({&seed, 1}, 1, neighborhood_);
  }
  void expect_damage(uint32_t seed, const std::vector<std::string>& parts) {
    expect_error(ErrorKind::store, parts, [&] { sample(seed); });
  }

  const Lists lists_ = {{1, 2}, {0}, {0, 1, 3}, {}, {2}};
  TempFolder temp_;
  fs::path folder_ = temp_ / "store";
  memory::Ledger ledger_{64 * kMiB};
  std::optional<Topology> topology_;
  Neighborhood neighborhood_{ledger_, 1};
};

TEST_F(DamagedBelowTheLine, AListThatEndsBeforeItBeginsIsFoundWhenItIsRead) {
  overwrite<uint64_t>(folder_ / "offsets.u64", 3, 2);  // of 0, 2, 3, 6, 6, 7
  expect_damage(2, {(folder_ / "offsets.u64").string(), "list 2 goes from 3 to 2 of 7", "damaged"});
  sample(0);
  EXPECT_EQ(copy_of(neighborhood_).nodes, (std::vector<uint32_t>{0, 1, 2}));
}

TEST_F(DamagedBelowTheLine, AListBeyondTheEdgesIsFoundWhenItIsRead) {
  for (const uint64_t beyond : {uint64_t{8}, uint64_t{1} << 40, UINT64_MAX}) {
    overwrite<uint64_t>(folder_ / "offsets.u64", 5, beyond);
    expect_damage(4, {(folder_ / "offsets.u64").string(), "list 4", std::to_string(beyond)});
    sample(1);
  }
}

TEST_F(DamagedBelowTheLine, ANeighbourThatIsNoNodeIsFoundWhenItIsRead) {
  for (const uint32_t impossible : {5U, UINT32_MAX}) {
    overwrite<uint32_t>(folder_ / "neighbors.u32", 4, impossible);
    expect_damage(2, {(folder_ / "neighbors.u32").string(),
                      "neighbour " + std::to_string(impossible) + " of a graph of 5 nodes"});
    sample(0);
    sample(4);
  }
}

TEST_F(DamagedBelowTheLine, AFileThatWasCutIsFoundWhenItIsRead) {
  fs::resize_file(folder_ / "neighbors.u32", 8);
  expect_damage(4, {(folder_ / "neighbors.u32").string(), "it has 8 bytes now"});
  fs::resize_file(folder_ / "offsets.u64", 0);
  expect_damage(4, {(folder_ / "offsets.u64").string(), "it has 0 bytes now"});
}

TEST_F(DamagedBelowTheLine, AShortFileIsRefusedAtOnce) {
  const graph::Store store = graph::open(folder_);
  fs::resize_file(folder_ / "neighbors.u32", 27);
  expect_error(ErrorKind::store, {"neighbors.u32", "27 bytes, 28 expected"}, [&] {
    load_topology(store, ledger_, {0, 0}, 1, [](uint64_t) {});
  });
}

// What is checked above the line when it is loaded.
TEST_F(DamagedBelowTheLine, WhatIsLoadedIsCheckedAtOnce) {
  overwrite<uint32_t>(folder_ / "neighbors.u32", 4, 5);
  const graph::Store store = graph::open(folder_);
  expect_error(ErrorKind::store, {"neighbour 5 of a graph of 5 nodes"}, [&] {
    load_topology(store, ledger_, {0, UINT64_MAX}, 1, [](uint64_t) {});
  });
}

}  // namespace
}  // namespace plimsoll::sample
