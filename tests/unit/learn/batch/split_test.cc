#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "batch/seeds.h"
#include "graph/store.h"
#include "sample/small_graph.h"
#include "temp_folder.h"

namespace plimsoll::batch {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kNodes = 150'000;  // labels are read in pieces of 65,536
constexpr int32_t kClasses = 7;

// Node i has label i % 7; every fifth node has none.
class SplitTest : public testing::Test {
 protected:
  SplitTest() {
    store_.lists.resize(kNodes);
    store_.feature_columns = 1;
    store_.classes = kClasses;
    for (uint32_t node = 0; node < kNodes; ++node) store_.labels.push_back(label_of(node));
  }
  static int32_t label_of(uint32_t node) {
    return node % 5 == 4 ? -1 : static_cast<int32_t>(node % kClasses);
  }
  Splits load() { return load_splits(graph::open(folder_), ledger_); }
  static void expect_split(const Split& split, const std::vector<uint32_t>& nodes) {
    ASSERT_EQ(split.nodes.size(), nodes.size());
    ASSERT_EQ(split.labels.size(), nodes.size());
    for (uint64_t i = 0; i < nodes.size(); ++i) {
      EXPECT_EQ(split.nodes[i], nodes[i]);
      EXPECT_EQ(split.labels[i], label_of(nodes[i])) << "of node " << nodes[i];
    }
  }

  TempFolder temp_;
  fs::path folder_ = temp_ / "store";
  memory::Ledger ledger_{16 * kMiB};
  sample::SmallStore store_;
};

TEST_F(SplitTest, HasItsNodesWithTheirLabels) {
  store_.splits[0] = {0, 1, 2, 65535, 65536, 65537, 131'071, 131'072, kNodes - 2};
  store_.splits[1] = {3, 65'538};
  for (uint32_t node = 100'000; node < 120'000; ++node) {
    if (label_of(node) >= 0) store_.splits[2].push_back(node);
  }
  write_store(folder_, store_);
  const Splits splits = load();
  expect_split(splits.train, store_.splits[0]);
  expect_split(splits.valid, store_.splits[1]);
  expect_split(splits.test, store_.splits[2]);
}

TEST_F(SplitTest, KeepsAFewBytesForItsNodesNotForTheGraphs) {
  store_.splits[0] = {1, 2, 3};
  write_store(folder_, store_);
  const Splits splits = load();
  EXPECT_EQ(ledger_.used_bytes(), 2U * 4096);
  EXPECT_EQ(ledger_.usage().front().tag, "splits");
}

TEST_F(SplitTest, TakesNoMoreThanItSays) {
  store_.splits[0] = {0, 1, 2};
  store_.splits[1] = {3};
  for (uint32_t node = 100'000; node < 120'000; ++node) {
    if (label_of(node) >= 0) store_.splits[2].push_back(node);
  }
  write_store(folder_, store_);
  const Splits splits = load();
  const uint64_t kept = splits_bytes(4 + store_.splits[2].size());
  EXPECT_LE(ledger_.used_bytes(), kept);
  EXPECT_GE(ledger_.used_bytes() + 6 * memory::kPageBytes, kept);
  EXPECT_LE(ledger_.peak_bytes(), kept + splits_loading_bytes());
  EXPECT_GE(ledger_.peak_bytes(), ledger_.used_bytes() + splits_loading_bytes());
}

TEST_F(SplitTest, MayBeEmpty) {
  write_store(folder_, store_);
  const Splits splits = load();
  expect_split(splits.train, {});
  expect_split(splits.valid, {});
  expect_split(splits.test, {});
}

TEST_F(SplitTest, RefusesANodeWithoutALabel) {
  for (size_t which = 0; which < 3; ++which) {
    store_.splits = {};
    store_.splits.at(which) = {1, 70'004};
    const fs::path folder = temp_ / std::to_string(which);
    write_store(folder, store_);
    expect_error(ErrorKind::input, {folder.string(), "position 70004", "no label"},
                 [&] { load_splits(graph::open(folder), ledger_); });
  }
  EXPECT_EQ(ledger_.used_bytes(), 0U);
}

TEST_F(SplitTest, RefusesALabelBeyondTheClasses) {
  store_.splits[1] = {1, 70'000};
  store_.labels[70'000] = kClasses;
  write_store(folder_, store_);
  expect_error(ErrorKind::store,
               {(folder_ / "labels.i32").string(), "label 7 is not one of 7 classes"},
               [&] { load(); });
}

TEST_F(SplitTest, RefusesPositionsOutOfOrder) {
  store_.splits[0] = {1, 2};
  store_.splits[2] = {5, 6, 7, 8};
  write_store(folder_, store_);
  const fs::path file = folder_ / "split.test.u32";
  const auto expect_refusal = [&] {
    expect_error(ErrorKind::store, {file.string(), "not ascending"}, [&] { load(); });
  };
  sample::overwrite<uint32_t>(file, 2, 6);  // one twice
  expect_refusal();
  sample::overwrite<uint32_t>(file, 2, 2);  // falling
  expect_refusal();
  sample::overwrite<uint32_t>(file, 2, 7);
  load();
  sample::overwrite<uint32_t>(file, 3, kNodes);  // no node
  expect_refusal();
}

}  // namespace
}  // namespace plimsoll::batch
