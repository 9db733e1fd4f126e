#include "memory/index_set.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <set>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::memory {
namespace {

// Everything that the set says, against a set that needs no thought.
void expect_same(const IndexSet& set, const std::set<uint64_t>& expected) {
  ASSERT_EQ(set.size(), expected.size());
  uint64_t rank = 0;
  auto next = expected.begin();
  for (uint64_t node = 0; node < set.end(); ++node) {
    const bool has = expected.contains(node);
    ASSERT_EQ(set.has(node), has) << node;
    ASSERT_EQ(set.rank(node), rank) << node;
    ASSERT_EQ(set.next(node), next == expected.end() ? set.end() : *next) << node;
    if (!has) continue;
    ASSERT_EQ(set.at(rank), node);
    ++rank;
    ++next;
  }
  EXPECT_EQ(set.rank(set.end()), expected.size());
  EXPECT_EQ(set.next(set.end()), set.end());
}

// Around the sizes of its words and blocks.
const std::vector<uint64_t> kSizes = {1,   2,   63,  64,   65,   511,  512,
                                      513, 575, 576, 1023, 1024, 1025, 5000};

TEST(IndexSet, AgreesWithAnOrderedSetAtRandom) {
  memory::Ledger ledger(kMiB);
  uint64_t draw = 0;
  const RandomStream random(3, 3);
  for (const uint64_t nodes : kSizes) {
    for (const uint64_t wanted : {uint64_t{0}, uint64_t{1}, nodes / 20, nodes / 2, 3 * nodes}) {
      SCOPED_TRACE(std::to_string(wanted) + " adds of " + std::to_string(nodes) + " nodes");
      IndexSet set(ledger, nodes);
      std::set<uint64_t> expected;
      for (uint64_t i = 0; i < wanted; ++i) {
        const uint64_t node = below(random.at(draw++), nodes);
        set.add(node);
        expected.insert(node);
      }
      set.count();
      ASSERT_NO_FATAL_FAILURE(expect_same(set, expected));
    }
  }
}

TEST(IndexSet, AgreesWhereItIsEmptyFullOrInOnePiece) {
  memory::Ledger ledger(kMiB);
  for (const uint64_t nodes : kSizes) {
    for (const auto& [first, last] :
         std::vector<std::pair<uint64_t, uint64_t>>{{0, 0},
                                                    {0, nodes},
                                                    {nodes - 1, nodes},
                                                    {0, 1},
                                                    {nodes / 2, nodes / 2 + 1},
                                                    {nodes / 3, nodes},
                                                    {0, nodes / 3}}) {
      IndexSet set(ledger, nodes);
      std::set<uint64_t> expected;
      for (uint64_t node = first; node < last; ++node) {
        set.add(node);
        expected.insert(node);
      }
      set.count();
      ASSERT_NO_FATAL_FAILURE(expect_same(set, expected)) << first << " to " << last;
    }
  }
}

// Long gaps: whole blocks without a node.
TEST(IndexSet, FindsItsNodesAcrossGaps) {
  memory::Ledger ledger(kMiB);
  IndexSet set(ledger, 100'000);
  const std::set<uint64_t> expected = {0, 511, 512, 10'000, 10'001, 77'777, 99'999};
  for (const uint64_t node : expected) set.add(node);
  set.count();
  ASSERT_NO_FATAL_FAILURE(expect_same(set, expected));
}

TEST(IndexSet, CountsAgainAfterMoreWereAdded) {
  memory::Ledger ledger(kMiB);
  IndexSet set(ledger, 2000);
  std::set<uint64_t> expected;
  for (const uint64_t step : {7U, 3U}) {
    for (uint64_t node = 0; node < 2000; node += step) {
      set.add(node);
      expected.insert(node);
    }
    set.count();
    ASSERT_NO_FATAL_FAILURE(expect_same(set, expected));
  }
}

TEST(IndexSet, LeasesAFewBitsANode) {
  memory::Ledger ledger(64 * kMiB);
  {
    const IndexSet set(ledger, 8'000'000);
    EXPECT_GE(ledger.used_bytes(), 1'000'000U);
    EXPECT_LE(ledger.used_bytes(), 1'520'000U);
    EXPECT_EQ(ledger.usage().front().tag, "node sets");
  }
  EXPECT_EQ(ledger.used_bytes(), 0U);
  memory::Ledger small(kMiB / 2);
  expect_error(ErrorKind::memory, {"node sets"}, [&] { const IndexSet set(small, 8'000'000); });
}

}  // namespace
}  // namespace plimsoll::memory
