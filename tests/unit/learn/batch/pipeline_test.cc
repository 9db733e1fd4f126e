#include "batch/pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "base/random.h"
#include "memory/page_counter.h"
#include "small_batch.h"
#include "small_pipeline.h"
#include "temp_folder.h"

namespace plimsoll::batch {
namespace {

const std::vector<uint32_t> kFanout = {5, 3};

class PipelineTest : public testing::Test {
 protected:
  PipelineTest() {
    for (uint32_t node = 1; node < 1000; node += 3) {
      train_.push_back(node);
      labels_.push_back(static_cast<int32_t>(node % 10));
    }
  }
  std::unique_ptr<Pipeline> make(const Assembly& assembly = kSage, unsigned workers = 1,
                                 unsigned slots = 3) {
    return std::make_unique<Pipeline>(
        data_.topology, data_.source(),
        PipelineOptions{
            .fanout = kFanout, .assembly = assembly, .workers = workers, .slots = slots},
        data_.ledger);
  }
  Pass pass(uint64_t key = 1) const {
    return {.seeds = Seeds::shuffled(train_, key),
            .labels = labels_,
            .batch_size = 20,
            .key = key,
            .gradients = true};
  }

  SmallData data_{sample::random_lists(1000, 20, 3)};
  std::vector<uint32_t> train_;
  std::vector<int32_t> labels_;
};

TEST_F(PipelineTest, GivesTheBatchesOfAPassInOrder) {
  const auto pipeline = make();
  pipeline->start(pass());
  const Pass expected = pass();
  uint64_t index = 0;
  std::set<uint32_t> seen;
  while (const Batch* batch = pipeline->take()) {
    EXPECT_EQ(batch->index, index);
    EXPECT_EQ(batch->first_seed, index * 20);
    const uint64_t seeds = std::min<uint64_t>(20, train_.size() - index * 20);
    ASSERT_EQ(batch->seeds, seeds);
    ASSERT_EQ(batch->labels.size(), seeds);
    for (uint64_t i = 0; i < seeds; ++i) {
      const uint64_t place = expected.seeds.place(index * 20 + i);
      EXPECT_EQ(batch->nodes[i], train_[place]);
      EXPECT_EQ(batch->labels[i], labels_[place]);
      seen.insert(batch->nodes[i]);
    }
    pipeline->give_back(batch);
    ++index;
  }
  EXPECT_EQ(index, expected.seeds.batches(20));
  EXPECT_EQ(seen.size(), train_.size());
  EXPECT_EQ(pipeline->take(), nullptr);
}

// Each batch is what a sampler and an assembler of one's own make of its seeds.
TEST_F(PipelineTest, GivesWhatSamplerAndAssemblerMake) {
  const auto pipeline = make(kGcn, 2);
  pipeline->start(pass());
  while (const Batch* batch = pipeline->take()) {
    const std::vector<uint32_t> seeds(batch->nodes.begin(), batch->nodes.begin() + batch->seeds);
    MadeBatch made(data_, kFanout, kGcn, seeds, RandomStream(1, batch->index).at(0));
    Batch expected = made.batch();
    expected.index = batch->index;
    expected.first_seed = batch->first_seed;
    expected.labels = batch->labels;
    EXPECT_TRUE(BatchCopy(*batch) == BatchCopy(expected));
    pipeline->give_back(batch);
  }
}

TEST_F(PipelineTest, GivesTheSameBatchesWithAnyNumberOfWorkersAndSlots) {
  for (const Assembly& assembly : {kSage, kGcn, kGcnSampled, kGat}) {
    const auto alone = make(assembly, 1, 1);
    alone->start(pass());
    const std::vector<BatchCopy> expected = drain(*alone);
    ASSERT_EQ(expected.size(), 17U);
    for (const unsigned workers : {1U, 2U, 16U}) {
      for (const unsigned slots : {1U, 3U, 20U}) {
        const auto pipeline = make(assembly, workers, slots);
        for (int round = 0; round < 2; ++round) {
          pipeline->start(pass());
          EXPECT_TRUE(drain(*pipeline) == expected) << workers << " workers, " << slots << " slots";
        }
      }
    }
  }
}

// The parts of a batch have its seeds in order, none twice, and what a sampler makes of them with
// the key of the whole batch.
TEST_F(PipelineTest, CutsEveryBatchAmongRanks) {
  const uint64_t last = train_.size() / 20;
  ASSERT_EQ(train_.size() % 20, 13U);
  for (const unsigned parts : {2U, 3U, 15U, 20U}) {
    std::vector<uint64_t> next(last + 1);  // by batch: the seeds of the parts so far
    for (unsigned part = 0; part < parts; ++part) {
      const auto pipeline = make(kGcn, 2);
      Pass cut = pass();
      cut.cut = {part, parts};
      pipeline->start(cut);
      uint64_t batches = 0;
      while (const Batch* batch = pipeline->take()) {
        EXPECT_EQ(batch->index, batches++);
        EXPECT_EQ(batch->of_all, batch->index == last ? 13U : 20U);
        EXPECT_TRUE(batch->first_part() && batch->last_part());
        EXPECT_EQ(batch->first_seed, batch->index * 20 + next[batch->index]);
        next[batch->index] += batch->seeds;
        const std::vector<uint32_t> seeds(batch->nodes.begin(),
                                          batch->nodes.begin() + batch->seeds);
        MadeBatch made(data_, kFanout, kGcn, seeds, RandomStream(1, batch->index).at(0));
        Batch expected = made.batch();
        expected.index = batch->index;
        expected.first_seed = batch->first_seed;
        expected.labels = batch->labels;
        EXPECT_TRUE(BatchCopy(*batch) == BatchCopy(expected));
        pipeline->give_back(batch);
      }
      EXPECT_EQ(batches, cut.cut.empty(13) ? last : last + 1) << part << " of " << parts;
    }
    for (uint64_t index = 0; index <= last; ++index) {
      EXPECT_EQ(next[index], index == last ? 13U : 20U) << parts;
    }
  }
}

TEST_F(PipelineTest, BeginsInTheMiddleOfACutPass) {
  const auto pipeline = make();
  Pass cut = pass();
  cut.cut = {1, 3};
  pipeline->start(cut);
  auto all = drain(*pipeline);
  cut.first_batch = 5;
  pipeline->start(cut);
  all.erase(all.begin(), all.begin() + 5);
  EXPECT_TRUE(drain(*pipeline) == all);
}

TEST_F(PipelineTest, GivesOtherBatchesForAnotherKey) {
  const auto pipeline = make();
  Pass in_order = pass(1);
  in_order.seeds = Seeds::in_order(train_);
  pipeline->start(in_order);
  const auto one = drain(*pipeline);
  in_order.key = 2;
  pipeline->start(in_order);
  const auto two = drain(*pipeline);
  ASSERT_EQ(one.size(), two.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_FALSE(one[i] == two[i]) << i;
}

TEST_F(PipelineTest, BeginsInTheMiddleWithTheSameBatches) {
  const auto pipeline = make(kSage, 2);
  pipeline->start(pass());
  const auto all = drain(*pipeline);
  for (const uint64_t first : {1U, 9U, 16U, 17U, 30U}) {
    Pass rest = pass();
    rest.first_batch = first;
    pipeline->start(rest);
    const auto batches = drain(*pipeline);
    ASSERT_EQ(batches.size(), first < all.size() ? all.size() - first : 0);
    for (size_t i = 0; i < batches.size(); ++i) EXPECT_TRUE(batches[i] == all[first + i]);
  }
}

TEST_F(PipelineTest, TakesAllNodesWithoutLabelsOrEdgesBySource) {
  const auto pipeline = make();
  pipeline->start({.seeds = Seeds::all(data_.lists.size()), .batch_size = 64});
  uint32_t next = 0;
  while (const Batch* batch = pipeline->take()) {
    EXPECT_TRUE(batch->labels.empty());
    for (uint32_t i = 0; i < batch->seeds; ++i) EXPECT_EQ(batch->nodes[i], next++);
    for (const Block& block : batch->blocks) EXPECT_TRUE(block.source_offsets.empty());
    pipeline->give_back(batch);
  }
  EXPECT_EQ(next, data_.lists.size());
}

TEST_F(PipelineTest, HasNothingToGiveForNoSeedsOrBeforeItsStart) {
  const auto pipeline = make();
  EXPECT_EQ(pipeline->take(), nullptr);
  pipeline->start({.seeds = Seeds::in_order({}), .batch_size = 8});
  EXPECT_EQ(pipeline->take(), nullptr);
}

TEST_F(PipelineTest, NeverHasMoreBatchesThanSlots) {
  const auto pipeline = make(kSage, 4, 3);
  pipeline->start(pass());
  const std::vector<const Batch*> held = {pipeline->take(), pipeline->take(), pipeline->take()};
  const std::vector<BatchCopy> copies = {BatchCopy(*held[0]), BatchCopy(*held[1]),
                                         BatchCopy(*held[2])};
  std::atomic<const Batch*> fourth = nullptr;
  std::jthread consumer([&] { fourth = pipeline->take(); });
  // A pipeline that overwrote a held batch or made a fourth would have the time to do so.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(fourth, nullptr);
  for (size_t i = 0; i < held.size(); ++i) EXPECT_TRUE(BatchCopy(*held[i]) == copies[i]);
  pipeline->give_back(held[1]);
  consumer.join();
  ASSERT_EQ(fourth, held[1]);  // in the memory that came back
  EXPECT_EQ(fourth.load()->index, 3U);
  EXPECT_TRUE(BatchCopy(*held[0]) == copies[0]);
  EXPECT_TRUE(BatchCopy(*held[2]) == copies[2]);
  for (const Batch* batch : held) pipeline->give_back(batch);
  std::set<const Batch*> places(held.begin(), held.end());
  while (const Batch* batch = pipeline->take()) {
    places.insert(batch);
    pipeline->give_back(batch);
  }
  EXPECT_EQ(places.size(), 3U);
}

TEST_F(PipelineTest, CanBeStoppedAndStartedAnywhere) {
  const auto pipeline = make(kSage, 3);
  pipeline->start(pass());
  const auto all = drain(*pipeline);
  for (size_t taken = 0; taken <= all.size(); taken += 4) {
    pipeline->start(pass());
    for (size_t i = 0; i < taken; ++i) {
      const Batch* batch = pipeline->take();
      EXPECT_TRUE(BatchCopy(*batch) == all[i]);
      pipeline->give_back(batch);
    }
    if (taken % 8 == 0) pipeline->stop();  // else start() drops what is under way
  }
  pipeline->stop();
  pipeline->stop();
  pipeline->start(pass());
  EXPECT_TRUE(drain(*pipeline) == all);
}

TEST_F(PipelineTest, CanEndInTheMiddleOfAPassWithBatchesOut) {
  for (const unsigned workers : {1U, 4U}) {
    const auto pipeline = make(kGat, workers);
    pipeline->start(pass());
    pipeline->take();
    pipeline->take();
  }
}

TEST_F(PipelineTest, RefusesToStartWhileBatchesAreOut) {
  const auto pipeline = make();
  pipeline->start(pass());
  const Batch* batch = pipeline->take();
  expect_error(ErrorKind::internal, {"1 batches not given back"}, [&] { pipeline->start(pass()); });
  pipeline->give_back(batch);
  pipeline->start(pass());
  EXPECT_EQ(drain(*pipeline).size(), 17U);
}

TEST_F(PipelineTest, PassesOnWhatAWorkerThrowsAndCanStartAgain) {
  const auto reference = make(kSage);
  reference->start(pass());
  const auto expected = drain(*reference);
  for (const unsigned workers : {1U, 4U}) {
    for (uint64_t left_bytes = 0; left_bytes <= 24 * kKiB; left_bytes += 4 * kKiB) {
      const auto pipeline = make(kSage, workers);
      {
        const auto rest = data_.ledger.lease("others", data_.ledger.available_bytes() - left_bytes);
        pipeline->start(pass());
        expect_error(ErrorKind::memory, {"need"}, [&] { drain(*pipeline); });
        expect_error(ErrorKind::memory, {"need"}, [&] { pipeline->take(); });  // and again
        if (left_bytes % (8 * kKiB) == 0) continue;                            // ended as it is
        pipeline->stop();
      }
      pipeline->start(pass());
      EXPECT_TRUE(drain(*pipeline) == expected);
    }
  }
}

// Nodes in rings of eight, each with the two beside it: all batches of one seed a ring are alike,
// so the sizes of a pass do not depend on its order.
class RingsTest : public testing::Test {
 protected:
  static constexpr uint32_t kRing = 8;
  static constexpr uint32_t kRings = 300;

  static sample::Lists rings() {
    sample::Lists lists(uint64_t{kRing} * kRings);
    for (uint32_t node = 0; node < lists.size(); ++node) {
      const uint32_t ring = node / kRing * kRing;
      lists[node] = {ring + (node + 1) % kRing, ring + (node + kRing - 1) % kRing};
    }
    return lists;
  }
  // The nodes at one place of every ring.
  static std::vector<uint32_t> one_of_each(uint32_t place) {
    return every(kRing, place, kRing * kRings);
  }
  Pass pass(const Seeds& seeds, uint64_t key) const {
    return {.seeds = seeds, .labels = labels_, .batch_size = 30, .key = key, .gradients = true};
  }
  std::unique_ptr<Pipeline> make(unsigned workers, memory::PageSource* pages = nullptr) {
    return std::make_unique<Pipeline>(
        data_.topology, data_.source(),
        PipelineOptions{
            .fanout = {2, 2}, .assembly = kSage, .workers = workers, .slots = 3, .pages = pages},
        data_.ledger);
  }
  // Holds three at a time, so that every slot has been used.
  static void run_over_all_slots(Pipeline& pipeline) {
    std::vector<const Batch*> held;
    while (const Batch* batch = pipeline.take()) {
      held.push_back(batch);
      if (held.size() < 3) continue;
      for (const Batch* each : held) pipeline.give_back(each);
      held.clear();
    }
    for (const Batch* each : held) pipeline.give_back(each);
  }

  uint64_t used_for(std::string_view tag) const {
    for (const auto& usage : data_.ledger.usage()) {
      if (usage.tag == tag) return usage.bytes;
    }
    return 0;
  }

  SmallData data_{rings()};
  const std::vector<uint32_t> train_ = one_of_each(0);
  const std::vector<uint32_t> valid_ = one_of_each(3);
  const std::vector<uint32_t> test_ = one_of_each(5);
  const std::vector<int32_t> labels_ = std::vector<int32_t>(kRings, 1);
};

TEST_F(RingsTest, APassOverOtherNodesCostsNoMemory) {
  const auto pipeline = make(1);
  pipeline->start(pass(Seeds::shuffled(train_, 1), 1));
  run_over_all_slots(*pipeline);
  const uint64_t used_bytes = data_.ledger.used_bytes();
  const uint64_t peak_bytes = data_.ledger.peak_bytes();
  for (const auto* nodes : {&valid_, &test_, &train_}) {
    const Seeds seeds = Seeds::in_order(*nodes);
    const Pass second = pass(seeds, 7);
    EXPECT_EQ(data_.ledger.used_bytes(), used_bytes);
    pipeline->start(second);
    EXPECT_EQ(data_.ledger.used_bytes(), used_bytes);
    run_over_all_slots(*pipeline);
    EXPECT_EQ(data_.ledger.used_bytes(), used_bytes);
    EXPECT_EQ(data_.ledger.peak_bytes(), peak_bytes);
  }
}

// Which worker draws is up to the machine, so a worker's own memory may come at any time; but it
// comes once.
TEST_F(RingsTest, MemoryDoesNotGrowOverManyPasses) {
  constexpr unsigned kWorkers = 4;
  uint64_t sampling_of_one = 0;
  {
    const auto alone = make(1);
    alone->start(pass(Seeds::in_order(train_), 1));
    run_over_all_slots(*alone);
    sampling_of_one = used_for("sampling");
  }
  memory::PageCounter pages;
  const auto pipeline = make(kWorkers, &pages);
  uint64_t batches_bytes = 0;
  uint64_t allocations = 0;
  for (uint64_t round = 0; round < 50; ++round) {
    const auto* nodes = round % 3 == 0 ? &train_ : (round % 3 == 1 ? &valid_ : &test_);
    pipeline->start(pass(Seeds::shuffled(*nodes, round), round));
    run_over_all_slots(*pipeline);
    if (round == 0) {
      batches_bytes = used_for("batches");
      allocations = pages.allocations();
    }
    ASSERT_EQ(used_for("batches"), batches_bytes) << "after pass " << round;
    ASSERT_EQ(pages.allocations(), allocations) << "after pass " << round;
    ASSERT_LE(used_for("sampling"), kWorkers * sampling_of_one) << "after pass " << round;
  }
}

// With one slot and one worker all batches go through the same memory, whatever their sizes.
TEST_F(PipelineTest, MemoryDoesNotGrowOverPassesOfUnevenBatches) {
  const auto pipeline = make(kGcn, 1, 1);
  uint64_t used_bytes = 0;
  for (uint64_t round = 0; round < 50; ++round) {
    pipeline->start(pass(round % 5));
    drain(*pipeline);
    if (round < 5) used_bytes = data_.ledger.used_bytes();
    ASSERT_EQ(data_.ledger.used_bytes(), used_bytes) << "after pass " << round;
  }
}

TEST_F(RingsTest, AllBatchMemoryComesFromTheGivenPages) {
  memory::PageCounter pages;
  const uint64_t before = data_.ledger.used_bytes();
  {
    const auto pipeline = make(2, &pages);
    pipeline->start(pass(Seeds::in_order(train_), 1));
    run_over_all_slots(*pipeline);
    EXPECT_GT(pages.lent_bytes(), 0U);
    EXPECT_EQ(pages.lent_bytes(), used_for("batches"));
  }
  EXPECT_EQ(pages.lent_bytes(), 0U);
  EXPECT_EQ(data_.ledger.used_bytes(), before);
}

}  // namespace
}  // namespace plimsoll::batch
