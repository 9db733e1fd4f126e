#include "plan/remedies.h"

#include <gtest/gtest.h>

#include "made_up_store.h"
#include "plan/describe.h"

namespace plimsoll::plan {
namespace {

using Fanouts = std::vector<std::vector<uint32_t>>;

TEST(SmallerFanouts, HalveDownToOneNeighbour) {
  EXPECT_EQ(smaller_fanouts({15, 10}), (Fanouts{{8, 5}, {4, 3}, {2, 2}, {1, 1}}));
  EXPECT_EQ(smaller_fanouts({1}), Fanouts());
  EXPECT_EQ(smaller_fanouts({recipe::kAllNeighbors, 2}),
            (Fanouts{{32, 1}, {16, 1}, {8, 1}, {4, 1}, {2, 1}, {1, 1}}));
}

class Remedies : public testing::Test {
 protected:
  explicit Remedies(const recipe::Recipe& recipe = {.batch_size = 4096})
      : question_(made_up_question(recipe)), draws_(draw(recipe.fanout)) {
    for (const auto& fanout : smaller_fanouts(recipe.fanout)) {
      smaller_.push_back({fanout, draw(fanout)});
    }
    question_.probe = expect_batch(draws_, question_.store, recipe.batch_size);
  }
  Draws draw(const std::vector<uint32_t>& fanout) const {
    return made_up_draws(question_.store, fanout, 600);
  }
  std::vector<Remedy> find(uint64_t limit_bytes) {
    question_.limit_bytes = limit_bytes;
    return find_remedies(question_, draws_, smaller_);
  }
  uint64_t minimum_with_batch(uint64_t size) const {
    Question asked = question_;
    asked.recipe.batch_size = size;
    asked.probe = expect_batch(draws_, asked.store, size);
    return minimum_bytes(asked);
  }
  static const Remedy* of(const std::vector<Remedy>& remedies, const std::string& option) {
    for (const Remedy& remedy : remedies) {
      if (remedy.options.starts_with(option)) return &remedy;
    }
    return nullptr;
  }

  Question question_;
  Draws draws_;
  std::vector<FanoutDraws> smaller_;
};

TEST_F(Remedies, NameTheLargestValueThatIsEnough) {
  const uint64_t limit = minimum_with_batch(1024) + kMiB;
  ASSERT_LT(limit, minimum_bytes(question_));
  const auto remedies = find(limit);
  const Remedy* batch = of(remedies, "--batch-size");
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->options, "--batch-size 1024");
  EXPECT_EQ(batch->minimum_bytes, minimum_with_batch(1024));
  EXPECT_TRUE(batch->enough);
  EXPECT_GT(minimum_with_batch(2048), limit);
}

TEST_F(Remedies, AreComputedLikeThePlan) {
  const auto remedies = find(minimum_bytes(question_) - kMiB);
  ASSERT_NE(of(remedies, "--fanout 8,5"), nullptr);
  ASSERT_NE(of(remedies, "--hidden 128"), nullptr);
  Question narrow = question_;
  narrow.recipe.hidden = 128;
  EXPECT_EQ(of(remedies, "--hidden")->minimum_bytes, minimum_bytes(narrow));
  for (const Remedy& remedy : remedies) {
    EXPECT_LT(remedy.minimum_bytes, minimum_bytes(question_));
    EXPECT_EQ(remedy.enough, remedy.minimum_bytes <= question_.limit_bytes);
  }
}

TEST_F(Remedies, NameWorkersOnlyWhereThereAreSome) {
  EXPECT_EQ(of(find(minimum_bytes(question_) - kMiB), "--workers"), nullptr);
  question_.workers = 6;
  EXPECT_NE(of(find(minimum_bytes(question_) - kMiB), "--workers 3"), nullptr);
  const auto remedies = find(kMiB);
  const Remedy* alone = of(remedies, "--workers");
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(alone->options, "--workers 1");
  EXPECT_FALSE(alone->enough);
}

TEST_F(Remedies, AddTheSmallestOfEverythingWhereNoneIsEnough) {
  question_.workers = 2;
  const auto remedies = find(270 * kMiB);
  ASSERT_GE(remedies.size(), 3);
  const Remedy& all = remedies.back();
  EXPECT_EQ(all.options, "--batch-size 1 --fanout 1,1 --hidden 16 --workers 1");
  for (const Remedy& remedy : remedies) EXPECT_GE(remedy.minimum_bytes, all.minimum_bytes);
  EXPECT_GT(all.minimum_bytes, question_.runtime_bytes + kLeastHeadroomBytes);
}

TEST_F(Remedies, AreSaidInALineEach) {
  const std::string text = describe(find(kMiB));
  EXPECT_NE(text.find("--batch-size 1 "), std::string::npos);
  EXPECT_NE(text.find("still too much"), std::string::npos);
  EXPECT_NE(describe(find(minimum_bytes(question_) - kMiB)).find(", fits"), std::string::npos);
}

class GatRemedies : public Remedies {
 protected:
  GatRemedies()
      : Remedies({.model = recipe::ModelKind::gat, .hidden = 96, .heads = 12, .batch_size = 256}) {}
};

TEST_F(GatRemedies, KeepTheColumnsDivisibleByTheHeads) {
  const std::vector<Remedy> remedies = find(kMiB);
  const Remedy* hidden = of(remedies, "--hidden");
  ASSERT_NE(hidden, nullptr);
  EXPECT_EQ(hidden->options, "--hidden 24");
}

class MlpRemedies : public Remedies {
 protected:
  MlpRemedies() : Remedies({.model = recipe::ModelKind::mlp, .batch_size = 50'000}) {
    draws_ = draw({});
    question_.probe = expect_batch(draws_, question_.store, 50'000);
  }
};

TEST_F(MlpRemedies, DoNotNameTheFanout) {
  EXPECT_EQ(of(find(kMiB), "--fanout"), nullptr);
  EXPECT_NE(of(find(kMiB), "--batch-size"), nullptr);
}

}  // namespace
}  // namespace plimsoll::plan
