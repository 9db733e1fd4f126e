#include "plan/lines.h"

#include <gtest/gtest.h>

#include "io/lined_file.h"
#include "made_up_store.h"

namespace plimsoll::plan {
namespace {

std::vector<uint64_t> rooms(const Work& work) {
  const uint64_t all = line_bytes(all_resident(work));
  std::vector<uint64_t> rooms = {0, 1, io::kLineStepBytes - 1, io::kLineStepBytes};
  for (uint64_t i = 1; i < 100; ++i) rooms.push_back(all / 100 * i + i);
  rooms.insert(rooms.end(), {all - 1, all, all + 1, 10 * all});
  return rooms;
}

TEST(LineChoice, StaysWithinTheRoomAndOnlyRisesWithIt) {
  for (const auto model :
       {recipe::ModelKind::gcn, recipe::ModelKind::sage, recipe::ModelKind::mlp}) {
    const Question question = made_up_question({.model = model});
    const LineChoice choice(question.work());
    Lines before = {0, 0, 0};
    Reads reads_before = predict_reads(question.work(), before);
    for (const uint64_t room : rooms(question.work())) {
      const Lines lines = choice.within(room);
      EXPECT_LE(line_bytes(lines), room);
      EXPECT_GE(lines.offsets_bytes, before.offsets_bytes);
      EXPECT_GE(lines.neighbors_bytes, before.neighbors_bytes);
      EXPECT_GE(lines.features_bytes, before.features_bytes);
      const Reads reads = predict_reads(question.work(), lines);
      EXPECT_LE(reads.rows, reads_before.rows);
      EXPECT_LE(reads.lists, reads_before.lists);
      before = lines;
      reads_before = reads;
    }
    EXPECT_EQ(before, all_resident(question.work()));
    EXPECT_EQ(reads_before.all(), 0);
  }
}

TEST(LineChoice, WastesNoMoreThanAStepOfEachFile) {
  const Question question = made_up_question({});
  const LineChoice choice(question.work());
  for (const uint64_t room : rooms(question.work())) {
    const uint64_t wanted = std::min(room, line_bytes(all_resident(question.work())));
    EXPECT_GT(line_bytes(choice.within(room)) + 3 * io::kLineStepBytes, wanted);
  }
}

// The first list is half of the file and hardly ever drawn from; those behind it often.
TEST(LineChoice, IsNotBlockedByAHubInFront) {
  Question question = made_up_question({});
  StoreShape& store = question.store;
  const uint64_t hub = store.edges / 2;
  for (Mark& mark : store.marks) {
    if (mark.node > 0) mark.edges = hub + mark.edges / 2;
  }
  question.probe.expanded[0] = 1e-3;
  question.probe.list_reads[0] = 1e-3;
  const LineChoice choice(question.work());
  const Lines small = choice.within(hub * sizeof(uint32_t) / 2);
  EXPECT_GT(small.features_bytes, 0);
  EXPECT_GT(small.offsets_bytes, 0);
  const Lines large = choice.within(line_bytes(all_resident(question.work())) * 9 / 10);
  EXPECT_GT(large.neighbors_bytes, hub * sizeof(uint32_t));
  EXPECT_GT(predict_reads(question.work(), large).lists_hits, 0.5);
}

TEST(LineChoice, PutsOffsetsInFrontOfRowsOfTheSameNodes) {
  const Question question = made_up_question({});
  const Lines lines = LineChoice(question.work()).within(200 * kMiB);
  EXPECT_GE(lines.offsets_bytes / 8, lines.features_bytes / 256);
}

TEST(PredictReads, CountsAReadForWhatIsBelowTheLines) {
  const Question question = made_up_question({});
  const BatchSize& batch = question.probe.batch;
  const Reads none = predict_reads(question.work(), {0, 0, 0});
  EXPECT_NEAR(none.rows, static_cast<double>(batch.nodes), 1);
  EXPECT_EQ(none.rows_hits, 0);
  EXPECT_EQ(none.lists_hits, 0);
  EXPECT_GT(none.lists, static_cast<double>(batch.nodes + batch.expanded()) * 0.99);
  EXPECT_EQ(none.adjacency_hits, 0);
  const Reads rows = predict_reads(question.work(), {0, 0, question.store.features_bytes()});
  EXPECT_EQ(rows.rows, 0);
  EXPECT_EQ(rows.lists, none.lists);
}

// Only gcn with the graph's degrees looks up the list of every node; others of those they expand.
TEST(PredictReads, KnowsWhoseBoundsAreLookedUp) {
  const Question full = made_up_question({});
  const Question sampled = made_up_question({.norm = recipe::Norm::sampled});
  const Lines no_offsets = {0, full.store.neighbors_bytes(), full.store.features_bytes()};
  EXPECT_NEAR(predict_reads(full.work(), no_offsets).lists,
              static_cast<double>(full.probe.batch.nodes), 20);
  EXPECT_NEAR(predict_reads(sampled.work(), no_offsets).lists,
              static_cast<double>(full.probe.batch.expanded()), 20);
}

TEST(AllResident, LeavesOutTheListsForMlp) {
  const Question question = made_up_question({.model = recipe::ModelKind::mlp});
  EXPECT_EQ(all_resident(question.work()), (Lines{0, 0, question.store.features_bytes()}));
  EXPECT_EQ(predict_reads(question.work(), {0, 0, 0}).lists, 0);
}

}  // namespace
}  // namespace plimsoll::plan
