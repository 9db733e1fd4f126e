#include "sample/node_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::sample {
namespace {

// Numbers that lie together, far apart, and at both ends.
std::vector<uint32_t> some_nodes(uint32_t count) {
  std::vector<uint32_t> nodes = {0, UINT32_MAX - 1, 1, UINT32_MAX - 2};
  for (uint32_t i = 0; nodes.size() < count; ++i) {
    nodes.push_back(i % 2 == 0 ? 10 + i : static_cast<uint32_t>(1U << 31) + i * 65536);
  }
  return nodes;
}

TEST(NodeTable, NumbersNodesInTheOrderOfMeeting) {
  memory::Ledger ledger(kMiB);
  NodeTable table(ledger);
  table.clear(400);
  const std::vector<uint32_t> nodes = some_nodes(400);
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(table.count(), i);
    ASSERT_EQ(table.number(nodes[i]), i);
    ASSERT_EQ(table.number(nodes[i / 2]), i / 2);
  }
  EXPECT_EQ(table.count(), nodes.size());
}

TEST(NodeTable, KeepsItsNumbersWhenItGrows) {
  memory::Ledger ledger(64 * kMiB);
  NodeTable table(ledger);
  const std::vector<uint32_t> nodes = some_nodes(20'000);
  table.clear(1);
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    table.reserve(i + 1);
    ASSERT_EQ(table.number(nodes[i]), i);
  }
  for (uint32_t i = 0; i < nodes.size(); ++i) ASSERT_EQ(table.number(nodes[i]), i);
  EXPECT_EQ(table.count(), nodes.size());
}

TEST(NodeTable, ForgetsWhenCleared) {
  memory::Ledger ledger(64 * kMiB);
  NodeTable table(ledger);
  const std::vector<uint32_t> nodes = some_nodes(5000);
  for (const uint32_t room : {5000U, 5000U, 20'000U, 5000U}) {
    table.clear(room);
    EXPECT_EQ(table.count(), 0U);
    for (uint32_t i = 0; i < nodes.size(); ++i)
      ASSERT_EQ(table.number(nodes[nodes.size() - 1 - i]), i);
  }
}

TEST(NodeTable, KeepsItsRoom) {
  memory::Ledger ledger(64 * kMiB);
  NodeTable table(ledger);
  table.clear(10'000);
  const uint64_t used_bytes = ledger.used_bytes();
  for (const uint64_t room : {1U, 500U, 9999U, 10'000U}) {
    table.clear(room);
    table.reserve(room);
    EXPECT_EQ(ledger.used_bytes(), used_bytes);
  }
  ASSERT_EQ(ledger.usage().size(), 1U);
  EXPECT_EQ(ledger.usage().front().tag, "sampling");
}

TEST(NodeTable, CanBeClearedAndUsedAfterARefusal) {
  memory::Ledger ledger(kMiB);
  NodeTable table(ledger);
  expect_error(ErrorKind::memory, {"sampling"}, [&] { table.reserve(kMiB); });
  table.clear(100);
  EXPECT_EQ(table.number(7), 0U);
  expect_error(ErrorKind::memory, {"sampling"}, [&] { table.clear(kMiB); });
  table.clear(100);
  EXPECT_EQ(table.number(9), 0U);
  EXPECT_EQ(table.number(7), 1U);
}

}  // namespace
}  // namespace plimsoll::sample
