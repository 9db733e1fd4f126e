#include "ingest/build.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <random>

#include "base/error.h"
#include "base/half.h"
#include "base/units.h"
#include "graph/store.h"
#include "ingest/passes.h"
#include "memory_input.h"
#include "temp_folder.h"

namespace plimsoll::ingest {
namespace {

namespace fs = std::filesystem;

template <typename T>
std::vector<T> read_array(const fs::path& path) {
  std::vector<T> values(fs::file_size(path) / sizeof(T));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(T)));
  return values;
}

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Repeated edges, self-loops, a hub, isolated nodes; labels on a part, three splits.
MemoryGraph random_graph(uint64_t nodes, uint64_t edges, uint32_t seed) {
  std::mt19937 random(seed);
  MemoryGraph graph{.nodes = nodes, .columns = 5};
  for (uint64_t i = 0; i < edges; ++i) {
    const auto from = static_cast<uint32_t>(random() % nodes);
    const auto to = static_cast<uint32_t>(i % 3 == 0 ? 0 : random() % (nodes / 2));
    graph.edges.emplace_back(from, to);
    if (i % 10 == 0) graph.edges.emplace_back(from, to);
    if (i % 17 == 0) graph.edges.emplace_back(to, to);
  }
  for (uint64_t i = 0; i < nodes * graph.columns; ++i) {
    graph.features.push_back(static_cast<float>(random() % 2048) / 64 - 16);
  }
  for (uint32_t node = 0; node < nodes; ++node) {
    graph.labels.push_back(node % 4 == 3 ? -1 : static_cast<int32_t>(random() % 7));
    if (node % 4 != 3 && node % 5 < 3) graph.splits[node % 5].push_back(node);
  }
  return graph;
}

class Build : public testing::Test {
 protected:
  BuildResult build_store(const MemoryGraph& graph, BuildOptions options,
                          uint64_t limit_bytes = kGiB) {
    MemoryInput source(graph);
    memory::Ledger ledger(limit_bytes);
    Progress progress(ProgressStyle::silent);
    if (options.out.empty()) options.out = folder_.path() / "graph.plim";
    options.source = {{"name", "test"}};
    const BuildResult result = build(source, options, ledger, progress);
    EXPECT_EQ(ledger.used_bytes(), 0U);
    EXPECT_LE(ledger.peak_bytes(), limit_bytes);
    return result;
  }

  // The Error that a build of `graph` ends with; a build that succeeds fails the test.
  Error refusal(const MemoryGraph& graph, const BuildOptions& options = {},
                uint64_t limit_bytes = kGiB) {
    try {
      build_store(graph, options, limit_bytes);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "the build was not refused";
    return {ErrorKind::internal, ""};
  }

  void expect_equals_reference(const MemoryGraph& graph, bool undirected) {
    const graph::Store store = graph::open(folder_.path() / "graph.plim");
    memory::Ledger ledger(16 * kMiB);
    graph::verify(store, ledger, [](uint64_t) {});
    const auto ids = read_array<uint32_t>(store.file("ids.u32"));
    const auto offsets = read_array<uint64_t>(store.file("offsets.u64"));
    const auto neighbors = read_array<uint32_t>(store.file("neighbors.u32"));
    const auto labels = read_array<int32_t>(store.file("labels.i32"));
    const auto features = read_array<uint16_t>(store.features_file());
    const auto hotness = read_array<float>(store.file("hotness.f32"));
    std::vector<uint32_t> positions(graph.nodes);
    for (uint32_t position = 0; position < graph.nodes; ++position) {
      positions[ids[position]] = position;
    }
    const auto lists = reference_lists(graph, undirected);
    const auto visits = reference_visits(lists, graph, kHotHops, kHotFanout);
    const uint64_t row_values = store.meta().row_bytes / 2;
    for (uint32_t position = 0; position < graph.nodes; ++position) {
      const uint32_t id = ids[position];
      std::vector<uint32_t> expected;
      for (const uint32_t neighbor : lists[id]) expected.push_back(positions[neighbor]);
      std::sort(expected.begin(), expected.end());
      const std::vector<uint32_t> found(
          neighbors.begin() + static_cast<long>(offsets[position]),
          neighbors.begin() + static_cast<long>(offsets[position + 1]));
      ASSERT_EQ(found, expected) << "list of node " << id;
      ASSERT_EQ(labels[position], graph.labels[id]);
      ASSERT_NEAR(hotness[position], visits[id], 1e-3 * visits[id] + 1e-3);
      for (uint32_t column = 0; column < graph.columns; ++column) {
        ASSERT_EQ(from_half(features[position * row_values + column]),
                  graph.features[id * graph.columns + column]);
      }
      for (uint64_t column = graph.columns; column < row_values; ++column) {
        ASSERT_EQ(features[position * row_values + column], 0) << "padding is zero";
      }
      if (position == 0) continue;
      ASSERT_LE(hotness[position], hotness[position - 1]);
      if (hotness[position] == hotness[position - 1]) {
        ASSERT_LE(lists[id].size(), lists[ids[position - 1]].size());
      }
    }
    for (const SplitKind split : kSplits) {
      auto members = read_array<uint32_t>(store.file("split." + std::string(name(split)) + ".u32"));
      ASSERT_TRUE(std::is_sorted(members.begin(), members.end()));
      for (uint32_t& member : members) member = ids[member];
      std::sort(members.begin(), members.end());
      ASSERT_EQ(members, graph.splits[static_cast<size_t>(split)]);
    }
  }

  TempFolder folder_;
};

TEST_F(Build, EqualsThePlainWayUndirected) {
  const MemoryGraph graph = random_graph(700, 6000, 1);
  const BuildResult result = build_store(graph, {.threads = 2});
  EXPECT_GT(result.dropped.self_loops, 0U);
  EXPECT_GT(result.dropped.duplicates, 0U);
  expect_equals_reference(graph, true);
}

TEST_F(Build, EqualsThePlainWayDirected) {
  const MemoryGraph graph = random_graph(300, 4000, 2);
  const BuildResult result =
      build_store(graph, {.direction = graph::Direction::directed, .threads = 2});
  EXPECT_EQ(result.dropped.duplicates, 0U) << "directed graphs keep repeated edges";
  expect_equals_reference(graph, false);
}

TEST_F(Build, GivesTheSameBytesOnAnyNumberOfThreadsAndInAnyMemory) {
  const MemoryGraph graph = random_graph(5000, 300'000, 3);
  build_store(graph, {.out = folder_.path() / "a", .threads = 1});
  build_store(graph, {.out = folder_.path() / "b", .threads = 16}, 4 * kGiB);
  const uint64_t least = least_memory_bytes(build_shape(
      MemoryInput(graph).shape(), graph::Direction::undirected, graph::FeatureType::f16, false));
  build_store(graph, {.out = folder_.path() / "c", .threads = 5}, least);
  for (const fs::directory_entry& file : fs::directory_iterator(folder_.path() / "a")) {
    const fs::path name = file.path().filename();
    const std::string expected = read_all(file.path());
    EXPECT_EQ(read_all(folder_.path() / "b" / name), expected) << name;
    EXPECT_EQ(read_all(folder_.path() / "c" / name), expected) << name;
  }
}

TEST_F(Build, SortsAHubsListThatExceedsItsWorkspace) {
  MemoryGraph graph{.nodes = 400'000, .columns = 1};
  for (uint32_t node = 1; node < graph.nodes; ++node) graph.edges.emplace_back(node, 0);
  graph.labels.assign(graph.nodes, 0);
  graph.splits[0] = {0};
  const uint64_t least = least_memory_bytes(build_shape(
      MemoryInput(graph).shape(), graph::Direction::directed, graph::FeatureType::f16, false));
  build_store(graph, {.direction = graph::Direction::directed, .threads = 8}, least);
  const graph::Store store = graph::open(folder_.path() / "graph.plim");
  const auto neighbors = read_array<uint32_t>(store.file("neighbors.u32"));
  ASSERT_EQ(neighbors.size(), graph.nodes - 1);
  EXPECT_TRUE(std::is_sorted(neighbors.begin(), neighbors.end()));
}

TEST_F(Build, OrdersByDegreeWithoutSplits) {
  MemoryGraph graph = random_graph(200, 1500, 4);
  graph.splits = {{}, {}, {}};
  EXPECT_EQ(build_store(graph, {}).meta.order, graph::NodeOrder::degree);
  const graph::Store store = graph::open(folder_.path() / "graph.plim");
  const auto ids = read_array<uint32_t>(store.file("ids.u32"));
  const auto hotness = read_array<float>(store.file("hotness.f32"));
  const auto lists = reference_lists(graph, true);
  for (size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(hotness[i], static_cast<float>(lists[ids[i]].size()));
  }
}

TEST_F(Build, OrdersByDegreeWhereAsked) {
  const MemoryGraph graph = random_graph(200, 1500, 4);
  EXPECT_EQ(build_store(graph, {.order = graph::NodeOrder::degree}).meta.order,
            graph::NodeOrder::degree);
  const graph::Store store = graph::open(folder_.path() / "graph.plim");
  const auto ids = read_array<uint32_t>(store.file("ids.u32"));
  const auto lists = reference_lists(graph, true);
  for (size_t i = 1; i < ids.size(); ++i) {
    ASSERT_GE(lists[ids[i - 1]].size(), lists[ids[i]].size());
  }
}

TEST_F(Build, KeepsTheSourcesOrderWhereAsked) {
  const MemoryGraph graph = random_graph(200, 1500, 4);
  const BuildResult result = build_store(graph, {.order = graph::NodeOrder::original});
  EXPECT_EQ(result.meta.order, graph::NodeOrder::original);
  const graph::Store store = graph::open(folder_.path() / "graph.plim");
  EXPECT_EQ(store.meta().order, graph::NodeOrder::original);
  const auto ids = read_array<uint32_t>(store.file("ids.u32"));
  const auto labels = read_array<int32_t>(store.file("labels.i32"));
  const auto hotness = read_array<float>(store.file("hotness.f32"));
  const auto visits = reference_visits(reference_lists(graph, true), graph, kHotHops, kHotFanout);
  for (uint32_t id = 0; id < graph.nodes; ++id) {
    ASSERT_EQ(ids[id], id);
    ASSERT_EQ(labels[id], graph.labels[id]);
    ASSERT_NEAR(hotness[id], visits[id], 1e-3 * visits[id] + 1e-3);
  }
}

TEST_F(Build, KeepsFloatsWhereAsked) {
  MemoryGraph graph = random_graph(100, 300, 5);
  graph.features[7] = 1e20F;
  build_store(graph, {.features = graph::FeatureType::f32});
  const graph::Store store = graph::open(folder_.path() / "graph.plim");
  const auto features = read_array<float>(store.features_file());
  EXPECT_NE(std::find(features.begin(), features.end(), 1e20F), features.end());
}

TEST_F(Build, RefusesAValueThatF16CannotHold) {
  MemoryGraph graph = random_graph(100, 300, 6);
  graph.features[5 * 31 + 2] = 70'000;
  const Error error = refusal(graph);
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_STREQ(error.what(),
               "features, row 31, column 2: the value 70000 does not fit f16 (at most 65504); "
               "give --feature-type f32");
}

TEST_F(Build, CountsTheValuesThatF16Loses) {
  MemoryGraph graph = random_graph(100, 300, 14);
  std::fill(graph.features.begin(), graph.features.end(), 1.0F);
  graph.features[3] = 1e-9F;
  graph.features[70] = -0x1p-25F;
  graph.features[71] = 0x1p-24F;  // the smallest that f16 has
  graph.features[72] = 0.0F;
  EXPECT_EQ(build_store(graph, {}).vanished_values, 2U);
  EXPECT_EQ(
      build_store(graph, {.replace = true, .features = graph::FeatureType::f32}).vanished_values,
      0U);
}

TEST_F(Build, RefusesFeaturesThatAreNotFinite) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    for (const auto type : {graph::FeatureType::f16, graph::FeatureType::f32}) {
      MemoryGraph graph = random_graph(100, 300, 7);
      graph.features[5 * 99 + 4] = bad;
      const std::string message = refusal(graph, {.features = type}).what();
      EXPECT_NE(message.find("features, row 99, column 4"), std::string::npos) << message;
    }
  }
}

TEST_F(Build, RefusesANodeInTwoSplitsOrTwiceInOne) {
  MemoryGraph graph = random_graph(100, 300, 8);
  graph.splits = {{1, 2}, {0, 2}, {}};
  EXPECT_STREQ(refusal(graph).what(),
               "valid, row 1: node 2 is also in the train split; a node belongs to one split");
  graph.splits = {{1, 2, 1}, {}, {}};
  EXPECT_STREQ(refusal(graph).what(),
               "train, row 2: node 1 is listed twice in the train split; list it once");
}

TEST_F(Build, RefusesAnUnlabelledNodeInASplit) {
  MemoryGraph graph = random_graph(100, 300, 9);
  graph.labels[1] = -1;
  graph.splits = {{}, {1}, {}};
  EXPECT_STREQ(refusal(graph).what(),
               "labels, row 1: node 1 is in the valid split but has no label");
}

TEST_F(Build, RefusesMoreClassesThanLabelsCanTellApart) {
  MemoryGraph graph = random_graph(100, 300, 12);
  graph.labels[8] = 2'147'483'646;
  EXPECT_STREQ(refusal(graph).what(),
               "labels, row 8: label 2147483646 makes 2,147,483,647 classes, but only 75 nodes "
               "have a label; number the classes from 0 without gaps, as np.unique(labels, "
               "return_inverse=True) does");
  graph.labels[8] = 65'536;
  EXPECT_EQ(refusal(graph).kind(), ErrorKind::input);
  graph.labels[8] = 65'535;
  EXPECT_EQ(build_store(graph, {}).meta.classes, 65'536U);
}

TEST_F(Build, RefusesAGraphWithoutNodesOrColumns) {
  MemoryGraph graph{.nodes = 10, .columns = 0, .edges = {{1, 2}}};
  EXPECT_STREQ(refusal(graph).what(),
               "the graph has 10 nodes and 0 feature columns; a store needs both");
  graph = {.nodes = 0, .columns = 3};
  EXPECT_EQ(refusal(graph).kind(), ErrorKind::input);
}

TEST_F(Build, RefusesAGraphOfSelfLoops) {
  MemoryGraph graph{.nodes = 10, .columns = 1, .edges = {{1, 1}, {2, 2}}};
  EXPECT_EQ(refusal(graph).kind(), ErrorKind::input);
}

TEST_F(Build, LeavesNothingBehindWhenItFails) {
  MemoryGraph graph = random_graph(100, 300, 10);
  graph.features.back() = NAN;
  refusal(graph);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(Build, RefusesTooLittleMemoryBeforeItWrites) {
  const MemoryGraph graph = random_graph(100, 300, 11);
  const Error error = refusal(graph, {}, 50 * kMiB);
  EXPECT_EQ(error.kind(), ErrorKind::memory);
  EXPECT_NE(std::string(error.what()).find("the limit is 50.0 MiB"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(Build, RefusesTooSmallADiskBeforeItWrites) {
  const MemoryGraph graph = random_graph(100, 300, 12);
  BuildShape shape = build_shape(MemoryInput(graph).shape(), graph::Direction::undirected,
                                 graph::FeatureType::f16, false);
  shape.most_edges = uint64_t{1} << 50;
  try {
    check_room(shape, {.out = folder_.path() / "graph.plim"}, kGiB);
    FAIL() << "a disk of 8 PiB?";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::disk);
  }
}

TEST_F(Build, NeedsForceToReplace) {
  const MemoryGraph graph = random_graph(100, 300, 13);
  build_store(graph, {});
  EXPECT_EQ(refusal(graph).kind(), ErrorKind::exists);
  build_store(graph, {.replace = true});
}

}  // namespace
}  // namespace plimsoll::ingest
