#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.h"
#include "io/bulk_reader.h"

namespace plimsoll::io {
namespace {

constexpr uint64_t kPlanCases = 400;
constexpr uint64_t kMostParts = 12;

class PlanDraws {
 public:
  explicit PlanDraws(uint64_t seed) : random_(seed, 0) {}
  uint64_t below(uint64_t bound) { return plimsoll::below(random_.at(next_++), bound); }

 private:
  const RandomStream random_;
  uint64_t next_ = 0;
};

struct PlanCase {
  ReadRules rules;
  std::vector<Extent> wanted;
  uint64_t file_bytes = 0;
};

// Parts that touch, parts that share a sector and parts that are far from each other.
PlanCase random_plan_case(uint64_t seed) {
  PlanDraws draws(seed);
  constexpr std::array<uint64_t, 3> kAlignments = {1, 512, 4096};
  PlanCase made;
  made.rules = {.price = {.request_seconds = 1e-6 * static_cast<double>(1 + draws.below(100)),
                          .byte_seconds = 1e-10 * static_cast<double>(1 + draws.below(100))},
                .alignment = kAlignments.at(draws.below(3)),
                .most_bytes = UINT64_MAX};
  const uint64_t widest_gap = uint64_t{1} << draws.below(20);
  const uint64_t longest_part = uint64_t{1} << draws.below(14);
  const uint64_t count = 1 + draws.below(kMostParts);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t gap = draws.below(4) == 0 ? 0 : draws.below(widest_gap);
    made.wanted.push_back({made.file_bytes + gap, 1 + draws.below(longest_part)});
    made.file_bytes = made.wanted.back().end();
  }
  made.file_bytes += draws.below(10'000);
  return made;
}

uint64_t planned_bytes(const std::vector<Extent>& requests) {
  uint64_t bytes = 0;
  for (const Extent& request : requests) bytes += request.bytes;
  return bytes;
}

double planned_seconds(const ReadPrice& price, const std::vector<Extent>& requests) {
  return static_cast<double>(requests.size()) * price.request_seconds +
         static_cast<double>(planned_bytes(requests)) * price.byte_seconds;
}

bool holds(const Extent& request, const Extent& part) {
  return request.offset <= part.offset && part.end() <= request.end();
}

void expect_sound_plan(const PlanCase& made, const std::vector<Extent>& requests) {
  const uint64_t alignment = made.rules.alignment;
  for (const Extent& part : made.wanted) {
    const auto holds_it = [&](const Extent& request) { return holds(request, part); };
    EXPECT_EQ(std::ranges::count_if(requests, holds_it), 1) << "the part at " << part.offset;
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(requests[i].offset % alignment, 0U);
    EXPECT_EQ(requests[i].bytes % alignment, 0U);
    if (i > 0) {
      EXPECT_GE(requests[i].offset, requests[i - 1].end());
    }
  }
  EXPECT_LE(requests.size(), made.wanted.size());
  EXPECT_LE(planned_bytes(requests), (made.file_bytes + alignment - 1) / alignment * alignment);
}

// Every bit of `cuts` ends a run of parts after one of them.
std::vector<Extent> requests_of_runs(const PlanCase& made, uint64_t cuts) {
  std::vector<Extent> requests;
  size_t first = 0;
  for (size_t i = 0; i < made.wanted.size(); ++i) {
    if (i + 1 < made.wanted.size() && (cuts >> i & 1) == 0) continue;
    const uint64_t begin = made.wanted[first].offset;
    requests.push_back(made.rules.around({begin, made.wanted[i].end() - begin}));
    first = i + 1;
  }
  return requests;
}

double least_seconds(const PlanCase& made) {
  double least = std::numeric_limits<double>::infinity();
  for (uint64_t cuts = 0; cuts < uint64_t{1} << (made.wanted.size() - 1); ++cuts) {
    least = std::min(least, planned_seconds(made.rules.price, requests_of_runs(made, cuts)));
  }
  return least;
}

TEST(ReadPlan, CoversEveryPartOnceAndNeverReadsMoreThanTheFile) {
  for (uint64_t seed = 0; seed < kPlanCases; ++seed) {
    SCOPED_TRACE(seed);
    const PlanCase made = random_plan_case(seed);
    expect_sound_plan(made, plan_reads(made.rules, made.wanted));
  }
}

TEST(ReadPlan, CostsAboutAsLittleAsTheBestOfAllSplits) {
  uint64_t split = 0;
  uint64_t joined = 0;
  for (uint64_t seed = 0; seed < kPlanCases; ++seed) {
    const PlanCase made = random_plan_case(seed);
    const std::vector<Extent> requests = plan_reads(made.rules, made.wanted);
    EXPECT_LE(planned_seconds(made.rules.price, requests), 1.05 * least_seconds(made)) << seed;
    split += requests.size() > 1 ? 1 : 0;
    joined += requests.size() < made.wanted.size() ? 1 : 0;
  }
  EXPECT_GT(split, kPlanCases / 10);
  EXPECT_GT(joined, kPlanCases / 10);
}

// Of the parts of a request, only the first and those that share a sector with the part before may
// end beyond the limit.
void expect_limit_kept(const PlanCase& made, const std::vector<Extent>& requests) {
  for (const Extent& request : requests) {
    for (size_t i = 1; i < made.wanted.size(); ++i) {
      const Extent before = made.rules.around(made.wanted[i - 1]);
      const Extent part = made.rules.around(made.wanted[i]);
      if (!holds(request, before) || !holds(request, part)) continue;
      if (part.offset < before.end()) continue;
      EXPECT_LE(part.end() - request.offset, made.rules.most_bytes);
    }
  }
}

TEST(ReadPlan, KeepsTheMostBytesOfARequest) {
  uint64_t limited = 0;
  for (uint64_t seed = 0; seed < kPlanCases; ++seed) {
    SCOPED_TRACE(seed);
    PlanCase made = random_plan_case(seed);
    const size_t without_limit = plan_reads(made.rules, made.wanted).size();
    for (const uint64_t most_bytes : {1U, 4096U, 20'000U}) {
      made.rules.most_bytes = most_bytes;
      const std::vector<Extent> requests = plan_reads(made.rules, made.wanted);
      expect_sound_plan(made, requests);
      expect_limit_kept(made, requests);
      limited += requests.size() > without_limit ? 1 : 0;
    }
  }
  EXPECT_GT(limited, kPlanCases / 10);
}

TEST(ReadPlan, ExceedsTheMostBytesForOneLongPart) {
  const ReadRules rules = {.alignment = 512, .most_bytes = 1024};
  const std::vector<Extent> wanted = {{0, 512}, {512, 5000}, {6000, 100}};
  EXPECT_EQ(plan_reads(rules, wanted), (std::vector<Extent>{{0, 512}, {512, 5120}, {5632, 512}}));
}

TEST(ReadPlan, ExceedsTheMostBytesForASharedSector) {
  const ReadRules rules = {.alignment = 512, .most_bytes = 1024};
  const std::vector<Extent> wanted = {{0, 100}, {600, 100}, {1000, 100}, {1536, 10}};
  EXPECT_EQ(plan_reads(rules, wanted), (std::vector<Extent>{{0, 1536}, {1536, 512}}));
}

std::vector<Extent> parts_every(uint64_t step, uint64_t count) {
  std::vector<Extent> parts;
  for (uint64_t i = 0; i < count; ++i) parts.push_back({i * step, 100});
  return parts;
}

TEST(ReadPlan, MakesOneStreamOfDenseParts) {
  const ReadRules rules = {.alignment = 512};
  const auto requests = plan_reads(rules, parts_every(1000, 1000));
  EXPECT_EQ(requests, (std::vector<Extent>{{0, 999'424}}));
  // As long as a request may be.
  EXPECT_EQ(plan_reads(rules, parts_every(1000, 4000)).size(), 4U);
}

TEST(ReadPlan, LeavesSparsePartsSingle) {
  const ReadRules rules = {.alignment = 512, .most_bytes = UINT64_MAX};
  const std::vector<Extent> wanted = parts_every(100'000, 500);
  const std::vector<Extent> requests = plan_reads(rules, wanted);
  ASSERT_EQ(requests.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(requests[i], rules.around(wanted[i]));
}

TEST(ReadPlan, ReadsAGapThatCostsNoMoreThanARequest) {
  const ReadRules rules = {.price = {.request_seconds = 1, .byte_seconds = 0.125}};
  EXPECT_EQ(rules.price.widest_gap_bytes(), 8U);
  EXPECT_EQ(plan_reads(rules, std::vector<Extent>{{0, 10}, {18, 1}, {28, 1}}),
            (std::vector<Extent>{{0, 19}, {28, 1}}));
}

TEST(ReadPlan, JoinsEverythingWhereBytesCostNothing) {
  const ReadRules rules = {.price = {.request_seconds = 1e-6, .byte_seconds = 0},
                           .most_bytes = UINT64_MAX};
  EXPECT_EQ(plan_reads(rules, std::vector<Extent>{{5, 1}, {100, 7}, {uint64_t{1} << 50, 10}}),
            (std::vector<Extent>{{5, (uint64_t{1} << 50) + 5}}));
}

TEST(ReadPlan, JoinsOnlyTouchingSectorsWhereRequestsCostNothing) {
  const ReadRules rules = {.price = {.request_seconds = 0}, .alignment = 512};
  const std::vector<Extent> wanted = {{0, 10}, {400, 10}, {1000, 10}, {1024, 10}, {2048, 512}};
  EXPECT_EQ(plan_reads(rules, wanted), (std::vector<Extent>{{0, 1536}, {2048, 512}}));
}

TEST(ReadPlan, ReadsNothingWhereNothingIsWanted) { EXPECT_TRUE(plan_reads({}, {}).empty()); }

}  // namespace
}  // namespace plimsoll::io
