#include "api/loader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "base/random.h"
#include "learn/gpu/fake_driver.h"
#include "recipe/recipe.h"
#include "small_store.h"

namespace plimsoll::api {
namespace {

class LoaderTest : public testing::Test {
 protected:
  LoaderTest() { arrays_.write_store(temp_ / "small.plim"); }

  std::shared_ptr<Residence> residence(uint64_t limit_bytes = kGiB) const {
    return std::make_shared<Residence>(graph::open(temp_ / "small.plim"), limit_bytes);
  }
  static LoaderOptions options() {
    return {.fanout = {4, 3}, .batch_size = 32, .split = "train", .seed = 7, .threads = 2};
  }
  // The next batch, which must be there.
  static std::unique_ptr<LentBatch> next(Loader& loader) {
    std::unique_ptr<LentBatch> batch;
    EXPECT_EQ(loader.next({}, batch), NextResult::batch);
    return batch;
  }

  const SmallArrays arrays_;
  TempFolder temp_;
};

// What a training with this seed draws for a batch, hop by hop.
struct Expected {
  std::vector<uint32_t> nodes;
  std::vector<std::vector<uint32_t>> offsets;
  std::vector<std::vector<uint32_t>> indices;
};

Expected drawn_by_training(Residence& residence, const LoaderOptions& options, uint64_t epoch,
                           uint64_t index) {
  const SeedList list = list_seeds(options, residence);
  const auto seeds = batch::Seeds::shuffled(
      list.nodes, recipe::epoch_key(options.seed, recipe::Purpose::shuffle, epoch));
  std::vector<uint32_t> nodes;
  for (uint64_t i = index * options.batch_size;
       i < std::min(seeds.size(), (index + 1) * options.batch_size); ++i) {
    nodes.push_back(seeds.node(seeds.place(i)));
  }
  const uint64_t key = recipe::epoch_key(options.seed, recipe::Purpose::draws, epoch);
  const sample::Topology topology =
      sample::load_topology(residence.store(), residence.ledger(), {}, 1, [](uint64_t) {});
  sample::Sampler sampler(topology, {.fanout = options.fanout}, residence.ledger());
  sample::Neighborhood out(residence.ledger(), options.fanout.size());
  sampler.sample(nodes, RandomStream(key, index).at(0), out);
  Expected expected;
  const auto all = out.nodes.first(out.node_count());
  expected.nodes.assign(all.begin(), all.end());
  for (const sample::Hop& hop : out.hops) {
    const auto offsets = hop.offsets.first(hop.destinations + 1);
    const auto indices = hop.indices.first(hop.edges());
    expected.offsets.emplace_back(offsets.begin(), offsets.end());
    expected.indices.emplace_back(indices.begin(), indices.end());
  }
  return expected;
}

TEST_F(LoaderTest, HasTheBatchesOfATraining) {
  LoaderOptions wanted = options();
  wanted.shuffle = wanted.every_hop = wanted.positions = true;
  const auto shared = residence();
  Loader loader(shared, wanted);
  for (const uint64_t epoch : {0, 1, 5}) {
    loader.start(epoch);
    for (uint64_t index = 0; index < loader.batches(); ++index) {
      const auto batch = next(loader);
      const batch::FlatBatch& flat = batch->memory().flat();
      const Expected expected = drawn_by_training(*shared, wanted, epoch, index);
      ASSERT_TRUE(std::ranges::equal(flat.ids(), expected.nodes));
      std::vector<int64_t> ends;
      for (const auto& hop : expected.indices) ends.insert(ends.end(), hop.begin(), hop.end());
      for (const auto& offsets : expected.offsets) {
        for (size_t i = 0; i + 1 < offsets.size(); ++i) {
          ends.insert(ends.end(), offsets[i + 1] - offsets[i], static_cast<int64_t>(i));
        }
      }
      ASSERT_TRUE(std::ranges::equal(flat.ends(), ends)) << "batch " << index;
    }
    std::unique_ptr<LentBatch> none;
    EXPECT_EQ(loader.next({}, none), NextResult::end);
  }
}

TEST_F(LoaderTest, LendsOriginalIdsRowsAndLabels) {
  Loader loader(residence(), options());
  loader.start(0);
  std::set<std::pair<int64_t, int64_t>> edges;
  for (uint64_t i = 0; i < SmallArrays::kEdges; ++i) {
    edges.emplace(arrays_.sources[i], arrays_.destinations[i]);
  }
  std::set<int64_t> seen;
  for (uint64_t index = 0; index < loader.batches(); ++index) {
    const auto batch = next(loader);
    const batch::FlatBatch& flat = batch->memory().flat();
    const auto ids = flat.ids();
    const batch::Matrix& x = batch->memory().batch().input;
    ASSERT_EQ(x.rows, ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      ASSERT_EQ(flat.labels()[i], ids[i] % 7);
      for (uint64_t column = 0; column < SmallArrays::kColumns; ++column) {
        ASSERT_EQ(x.data[i * x.columns + column],
                  arrays_.features[static_cast<uint64_t>(ids[i]) * x.columns + column]);
      }
    }
    const auto sources = flat.ends().first(flat.edges());
    const auto destinations = flat.ends().last(flat.edges());
    std::map<int64_t, int> degrees;
    for (size_t i = 0; i < sources.size(); ++i) {
      ASSERT_TRUE(edges.contains(std::pair(ids[static_cast<size_t>(sources[i])],
                                           ids[static_cast<size_t>(destinations[i])])));
      const bool seed = destinations[i] < flat.hop_nodes()[0];
      ASSERT_LE(++degrees[destinations[i]], seed ? 4 : 3);
    }
    for (size_t i = 0; i < flat.places().size(); ++i) seen.insert(ids[i]);
  }
  EXPECT_EQ(seen.size(), 200U);
}

TEST_F(LoaderTest, GoesThroughGivenNodesInTheirOrder) {
  LoaderOptions wanted = options();
  wanted.split.clear();
  const std::vector<int64_t> given = {599, 0, 17, 300};
  wanted.nodes = given;
  wanted.batch_size = 3;
  Loader loader(residence(), wanted);
  loader.start(0);
  const auto first = next(loader);
  EXPECT_TRUE(std::ranges::equal(first->memory().flat().ids().first(3), std::vector{599, 0, 17}));
  const auto second = next(loader);
  EXPECT_EQ(second->memory().flat().ids()[0], 300);
  EXPECT_EQ(second->memory().flat().places()[0], 3);
  const std::vector<int64_t> twice = {5, 5};
  wanted.nodes = twice;
  EXPECT_THROW(Loader(residence(), wanted), Error);
  const std::vector<int64_t> unknown = {600};
  wanted.nodes = unknown;
  EXPECT_THROW(Loader(residence(), wanted), Error);
}

TEST_F(LoaderTest, ReadsGivenNodesOnlyWhileItIsMade) {
  LoaderOptions wanted = options();
  wanted.split.clear();
  std::vector<int64_t> given = {599, 0, 17};
  wanted.nodes = given;
  Loader loader(residence(), wanted);
  std::ranges::fill(given, -1);
  loader.start(0);
  EXPECT_TRUE(
      std::ranges::equal(next(loader)->memory().flat().ids().first(3), std::vector{599, 0, 17}));
}

TEST_F(LoaderTest, LeasesTheNodesThatItSamplesFor) {
  Loader loader(residence(), options());
  const auto sampled_bytes = [&] {
    for (const auto& use : loader.residence().ledger().usage()) {
      if (use.tag == "sampled nodes") return use.bytes;
    }
    return uint64_t{0};
  };
  EXPECT_EQ(sampled_bytes(), 0U);
  std::vector<int64_t> nodes(600);
  std::iota(nodes.begin(), nodes.end(), 0);
  for (const uint64_t count : {32, 600}) {
    ASSERT_TRUE(loader.sample(std::span(nodes).first(count), 0, 0));
    EXPECT_EQ(sampled_bytes(), Loader::sample_bytes(count));
    EXPECT_GE(sampled_bytes(), 2 * count * sizeof(uint32_t));
  }
}

TEST_F(LoaderTest, GoesThroughAllNodesByOriginalId) {
  LoaderOptions wanted = options();
  wanted.split.clear();
  wanted.all_nodes = true;
  wanted.batch_size = 256;
  Loader loader(residence(), wanted);
  loader.start(0);
  int64_t id = 0;
  for (uint64_t index = 0; index < loader.batches(); ++index) {
    const auto batch = next(loader);
    for (size_t i = 0; i < batch->memory().batch().seeds; ++i) {
      ASSERT_EQ(batch->memory().flat().ids()[i], id++);
    }
  }
  EXPECT_EQ(id, 600);
}

TEST_F(LoaderTest, LendsNoMoreBatchesThanItMayAndNeverWaitsForThem) {
  LoaderOptions wanted = options();
  wanted.held = 2;
  Loader loader(residence(), wanted);
  loader.start(0);
  auto first = next(loader);
  const auto second = next(loader);
  std::unique_ptr<LentBatch> third;
  EXPECT_EQ(loader.next({}, third), NextResult::held);
  first.reset();
  EXPECT_EQ(loader.next({}, third), NextResult::batch);
}

TEST_F(LoaderTest, BatchesStayWhatTheyAreAfterTheirPassAndTheirLoader) {
  std::unique_ptr<LentBatch> kept;
  std::vector<int64_t> ids;
  {
    Loader loader(residence(), options());
    loader.start(0);
    kept = next(loader);
    const auto now = kept->memory().flat().ids();
    ids.assign(now.begin(), now.end());
    loader.start(1);  // although a batch of the pass before is held
    next(loader);
  }
  EXPECT_TRUE(std::ranges::equal(kept->memory().flat().ids(), ids));
  EXPECT_EQ(kept->memory().batch().input.rows, ids.size());
}

TEST_F(LoaderTest, LoadersOfAStoreShareItsMemory) {
  const auto shared = residence();
  Loader train(shared, options());
  const uint64_t before = shared->ledger().used_bytes();
  LoaderOptions wanted = options();
  wanted.split = "valid";
  Loader valid(shared, wanted);
  EXPECT_LT(shared->ledger().used_bytes(), before + 64 * kKiB);
  train.start(0);
  valid.start(0);
  EXPECT_NE(next(train)->memory().flat().ids()[0], next(valid)->memory().flat().ids()[0]);
}

TEST_F(LoaderTest, DropsALastBatchThatIsNotFullIfAsked) {
  LoaderOptions wanted = options();
  EXPECT_EQ(Loader(residence(), wanted).batches(), 7U);
  wanted.drop_last = true;
  Loader loader(residence(), wanted);
  EXPECT_EQ(loader.batches(), 6U);
  loader.start(0);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(next(loader)->memory().batch().seeds, 32U);
  std::unique_ptr<LentBatch> none;
  EXPECT_EQ(loader.next({}, none), NextResult::end);
}

TEST_F(LoaderTest, SamplesForAnyNodesWhatThatBatchOfAPassDraws) {
  LoaderOptions wanted = options();
  Loader loader(residence(), wanted);
  loader.start(2);
  next(loader);
  const auto batch = next(loader);  // index 1
  const batch::FlatBatch& flat = batch->memory().flat();
  const auto seeds = flat.ids().first(flat.places().size());
  const auto again = loader.sample(seeds, 2, 1);
  EXPECT_TRUE(std::ranges::equal(again->memory().flat().ids(), flat.ids()));
  EXPECT_TRUE(std::ranges::equal(again->memory().flat().ends(), flat.ends()));
}

TEST_F(LoaderTest, ReadsRowsAndLabelsOfAnyNodes) {
  Loader loader(residence(), options());
  const std::vector<int64_t> ids = {3, 599, 3};
  std::vector<float> rows(ids.size() * SmallArrays::kColumns);
  loader.read_rows(ids, rows.data());
  std::vector<int64_t> labels(ids.size());
  loader.read_labels(ids, labels.data());
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(labels[i], ids[i] % 7);
    EXPECT_EQ(rows[i * 5 + 4], arrays_.features[static_cast<uint64_t>(ids[i]) * 5 + 4]);
  }
  EXPECT_THROW(loader.read_rows(std::vector<int64_t>{-1}, rows.data()), Error);
}

TEST_F(LoaderTest, RefusesALimitThatThisProgramAloneExceeds) {
  try {
    const Loader loader(residence(8 * kMiB), options());
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::memory);
    EXPECT_NE(std::string(error.what()).find("this loader needs"), std::string::npos)
        << error.what();
  }
}

TEST_F(LoaderTest, PlansWhatItThenLeases) {
  const auto shared = residence();
  const LoaderOptions wanted = options();
  Loader loader(shared, wanted);
  for (const uint64_t epoch : {0, 1}) {
    loader.start(epoch);
    std::unique_ptr<LentBatch> batch;
    while (loader.next({}, batch) == NextResult::batch) {
    }
  }
  const auto other = residence();
  const SeedList seeds = list_seeds(wanted, *other);
  const plan::Plan plan = plan_loader(wanted, *other, seeds.nodes);
  const uint64_t planned = plan.peak_bytes - plan.runtime_bytes;
  EXPECT_LE(shared->ledger().peak_bytes(), planned + planned / 4);
}

// Pointers that a GPU copies from.
bool has(const gpu::FakeDriver& driver, const void* data) {
  for (const auto& [begin, bytes] : driver.pinned) {
    if (data >= begin && data < static_cast<const std::byte*>(begin) + bytes) return true;
  }
  return false;
}

TEST_F(LoaderTest, LendsPinnedBatchesIfAsked) {
  gpu::FakeDriver driver;
  LoaderOptions wanted = options();
  wanted.pinning = Pinning::until_copied;
  wanted.driver = &driver.opened;
  const auto shared = residence();
  std::unique_ptr<LentBatch> kept;
  {
    Loader loader(shared, wanted);
    Loader plain(residence(), options());
    loader.start(0);
    plain.start(0);
    for (uint64_t i = 0; i < loader.batches(); ++i) {
      kept.reset();
      kept = next(loader);
      const auto expected = next(plain);
      const batch::FlatBatch& flat = kept->memory().flat();
      const float* const x = kept->memory().batch().input.data;
      EXPECT_TRUE(std::ranges::equal(flat.ends(), expected->memory().flat().ends()));
      EXPECT_EQ(std::memcmp(x, expected->memory().batch().input.data,
                            flat.ids().size() * SmallArrays::kColumns * sizeof(float)),
                0);
      const std::lock_guard lock(driver.mutex);
      for (const void* data :
           {static_cast<const void*>(x), static_cast<const void*>(flat.ids().data()),
            static_cast<const void*>(flat.ends().data()),
            static_cast<const void*>(flat.labels().data()),
            static_cast<const void*>(flat.places().data())}) {
        EXPECT_TRUE(has(driver, data));
      }
      EXPECT_FALSE(has(driver, kept->memory().neighborhood().nodes.data()));
    }
    EXPECT_EQ(loader.pinned_bytes(), driver.pinned_bytes());
    EXPECT_LE(loader.pinned_bytes(), shared->ledger().used_bytes());
    EXPECT_EQ(loader.pinning_problem(), "");
  }
  EXPECT_GT(driver.pinned_bytes(), 0U);  // of the batch that is still lent
  EXPECT_EQ(driver.contexts, 1);
  kept.reset();
  EXPECT_EQ(driver.pinned_bytes(), 0U);
  EXPECT_EQ(driver.contexts, 0);
  EXPECT_EQ(driver.events, 0);
}

TEST_F(LoaderTest, LendsOrdinaryBatchesIfTheDriverRefusesToPin) {
  gpu::FakeDriver driver;
  driver.refuses = 1;
  LoaderOptions wanted = options();
  wanted.pinning = Pinning::watched;
  wanted.driver = &driver.opened;
  Loader loader(residence(), wanted);
  loader.start(0);
  for (uint64_t i = 0; i < loader.batches(); ++i) next(loader);
  EXPECT_NE(loader.pinning_problem().find("out of memory"), std::string::npos);
  EXPECT_EQ(loader.pinned_bytes(), 0U);
}

TEST_F(LoaderTest, UsesABatchAgainWhenItsCopiesHaveEnded) {
  gpu::FakeDriver driver;
  LoaderOptions wanted = options();
  wanted.pinning = Pinning::watched;
  wanted.driver = &driver.opened;
  wanted.held = 2;
  Loader loader(residence(), wanted);
  loader.start(0);
  std::unique_ptr<LentBatch> batch = next(loader);
  const auto before = batch->memory().flat().ids();
  const std::vector<int64_t> ids(before.begin(), before.end());
  driver.copy();
  batch.reset();
  batch = next(loader);  // another one's memory
  driver.copy();
  batch.reset();
  using std::chrono::milliseconds;
  for (int i = 0; i < 3; ++i) {  // both are copied from, and none is lent: this is not `held`
    EXPECT_EQ(loader.next(milliseconds(1), batch), NextResult::wait);
  }
  EXPECT_EQ(loader.pool().lent(), 0U);
  EXPECT_TRUE(std::ranges::equal(before, ids));
  driver.finish();
  EXPECT_EQ(loader.next(milliseconds(1000), batch), NextResult::batch);
  batch.reset();  // nothing was asked of the GPU since: it is free at once
  while (loader.next({}, batch) == NextResult::batch) {
  }
}

TEST_F(LoaderTest, EndsWhenCopiesOfItsBatchesHaveEnded) {
  gpu::FakeDriver driver;
  LoaderOptions wanted = options();
  wanted.pinning = Pinning::watched;
  wanted.driver = &driver.opened;
  std::jthread gpu;
  {
    Loader loader(residence(), wanted);
    loader.start(0);
    const auto kept = next(loader);
    next(loader);
    driver.copy();
    next(loader);
    gpu = std::jthread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_GT(driver.pinned_bytes(), 0U);
      driver.finish();
    });
  }
  EXPECT_EQ(driver.done, 1U);
  EXPECT_EQ(driver.pinned_bytes(), 0U);
  EXPECT_EQ(driver.events, 0);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // what is resident is then mostly the sanitizer's
#else
constexpr bool kSanitized = false;
#endif

// What the rest of the process takes is taken from the ledger's share, and given back to it.
TEST(HostShareTest, CountsWhatIsNotLeased) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's own memory would be counted";
  memory::Ledger ledger(kGiB);
  HostShare share(ledger, 4 * kGiB);
  EXPECT_EQ(ledger.limit_bytes(), kGiB);
  share.enforce();
  const uint64_t before = ledger.limit_bytes();
  const uint64_t host = share.host_bytes();
  {
    std::vector<char> model(256 * kMiB, 1);
    share.look();
    EXPECT_NEAR(static_cast<double>(share.host_bytes() - host), 256 * kMiB, 8 * kMiB);
    EXPECT_NEAR(static_cast<double>(before - ledger.limit_bytes()), 256 * kMiB, 8 * kMiB);
  }
  for (int i = 0; i < 1000; ++i) share.tick();  // a peak is forgotten slowly
  EXPECT_NEAR(static_cast<double>(ledger.limit_bytes()), static_cast<double>(before), 40 * kMiB);
}

TEST(HostShareTest, DoesNotCountLeasesAsTheHosts) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's own memory would be counted";
  memory::Ledger ledger(kGiB);
  HostShare share(ledger, 4 * kGiB);
  const uint64_t host = share.host_bytes();
  const memory::Buffer<char> ours(ledger, "batches", 256 * kMiB);
  std::ranges::fill(ours.span(), 1);
  share.look();
  EXPECT_NEAR(static_cast<double>(share.host_bytes()), static_cast<double>(host), 8 * kMiB);
}

}  // namespace
}  // namespace plimsoll::api
