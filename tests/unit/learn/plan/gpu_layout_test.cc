// What a GPU's memory holds where it makes the batches itself, and the time that is predicted.
#include "plan/gpu_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gpu/cuda_accelerator.h"
#include "io/lined_file.h"
#include "made_up_store.h"
#include "plan/describe.h"
#include "plan/footprint.h"
#include "plan/lines.h"
#include "plan/timing.h"

namespace plimsoll::plan {
namespace {

using gpu::ResidentStore;
using recipe::ModelKind;

gpu::GpuRates made_up_rates() {
  return {.start_seconds = 2e-6,
          .pass_bytes = 2e12,
          .row_bytes = 1e12,
          .far_bytes = 4e10,
          .narrow_flops = 2e12,
          .wide_flops = 3e13};
}

// A store of 2.5 GiB of rows and 1.2 GiB of lists.
Question drawing_question(const recipe::Recipe& recipe, uint64_t gpu_bytes = 16 * kGiB) {
  Question question = made_up_question(recipe);
  question.gpu = true;
  question.gpu_memory_bytes = gpu_bytes;
  question.runtime_bytes = 1400 * kMiB;
  question.limit_bytes = 64 * kGiB;
  question.machine.step.on_gpu = made_up_rates();
  return question;
}

std::vector<recipe::Recipe> drawable() {
  return {{},
          {.fanout = {10}},
          {.fanout = {10, 10, 10}},
          {.model = ModelKind::sage},
          {.model = ModelKind::sage, .fanout = {10, 10, 5}, .batch_size = 4096},
          {.model = ModelKind::gat},
          {.model = ModelKind::gat, .fanout = {10, 5, 5}, .heads = 1},
          {.model = ModelKind::mlp},
          {.model = ModelKind::mlp, .batch_size = 1'000'000},
          {.fanout = {1, 1, 1}, .hidden = 16, .batch_size = 1}};
}

std::vector<uint64_t> gpu_limits() {
  std::vector<uint64_t> limits;
  for (uint64_t mib = 100; mib < 200'000; mib += mib / 40 + 1)
    limits.push_back(mib * kMiB + 12'345);
  return limits;
}

void expect_covers(const Question& question, const GpuLayout& layout) {
  const StoreShape& store = question.store;
  uint64_t near = ResidentStore::device_bytes(store.features_bytes(), layout.lines.features_bytes);
  uint64_t far = ResidentStore::host_bytes(store.features_bytes(), layout.lines.features_bytes);
  EXPECT_EQ(layout.features_bytes, near);
  uint64_t all = store.features_bytes();
  uint64_t adjacency = 0;
  if (layout.lines.lists) {
    for (const auto& [bytes, line] : {std::pair(store.offsets_bytes(), layout.lines.offsets_bytes),
                                      {store.neighbors_bytes(), layout.lines.neighbors_bytes}}) {
      adjacency += ResidentStore::device_bytes(bytes, line);
      far += ResidentStore::host_bytes(bytes, line);
      all += bytes;
    }
  }
  EXPECT_EQ(layout.adjacency_bytes, adjacency);
  EXPECT_EQ(layout.far_bytes, far);
  near += adjacency;
  EXPECT_GE(near + far, all);
  EXPECT_LE(near + far, all + 3 * (memory::kPageBytes + 512));  // whole pages and allocations
}

// A file's line is where a store's loading puts it.
void expect_lines_that_loading_keeps(const Question& question, const GpuLayout& layout) {
  const StoreShape& store = question.store;
  const auto expect_kept = [](uint64_t bytes, uint64_t line, uint64_t value_bytes) {
    EXPECT_EQ(ResidentStore::line_at(bytes, line, value_bytes), line);
  };
  expect_kept(store.features_bytes(), layout.lines.features_bytes, store.row_bytes);
  if (!layout.lines.lists) return;
  expect_kept(store.offsets_bytes(), layout.lines.offsets_bytes, sizeof(uint64_t));
  expect_kept(store.neighbors_bytes(), layout.lines.neighbors_bytes, sizeof(uint32_t));
}

TEST(DrawingGpu, AddsUpWithinEveryLimitAndCoversTheStore) {
  for (const recipe::Recipe& recipe : drawable()) {
    Question question = drawing_question(recipe);
    for (const uint64_t row_bytes : {uint64_t{256}, uint64_t{1536}}) {
      question.store.row_bytes = row_bytes;
      for (const uint64_t limit : gpu_limits()) {
        question.gpu_memory_bytes = limit;
        const GpuLayout layout = choose_gpu_layout(question, 1000 * kGiB);
        ASSERT_EQ(layout.limit_bytes, limit);
        ASSERT_NE(layout.draws, layout.too_small);
        if (!layout.draws) continue;
        ASSERT_LE(layout.peak_bytes(), limit) << describe(recipe);
        EXPECT_EQ(layout.model_bytes, model_bytes(question.work()) + kGpuTensorsBytes);
        EXPECT_EQ(layout.runtime_bytes, kGpuContextBytes + gpu::CudaAccelerator::kWorkspaceBytes);
        EXPECT_EQ(layout.batches_bytes,
                  gpu::network_bytes(network_shape(recipe, question.store, layout)));
        EXPECT_GE(layout.parts * layout.part_seeds,
                  std::min(recipe.batch_size, layout.longest_pass));
        EXPECT_LE(layout.part_seeds, recipe.batch_size);
        EXPECT_EQ(layout.lines.lists, recipe.model != ModelKind::mlp);
        EXPECT_EQ(layout.host_bytes(),
                  layout.far_bytes + ResidentStore::kLoadingBytes +
                      evaluation_pass_bytes(
                          std::max(question.store.train_nodes, question.store.evaluated_nodes)));
        expect_covers(question, layout);
        expect_lines_that_loading_keeps(question, layout);
      }
    }
  }
}

// What holds everything is not too small by the rounding of its parts.
TEST(DrawingGpu, HoldsEverythingAsSoonAsItFitsByAByteOrFitsLess) {
  for (const recipe::Recipe& recipe : drawable()) {
    Question question = drawing_question(recipe, 200 * kGiB);
    question.store.nodes += 1;  // files that end within an allocation
    question.store.edges += 5;
    question.store.marks.back() = {question.store.nodes, question.store.edges};
    const GpuLayout roomy = choose_gpu_layout(question, 1000 * kGiB);
    EXPECT_EQ(roomy.far_bytes, 0U);
    EXPECT_EQ(roomy.features_near, 1);
    EXPECT_EQ(roomy.adjacency_near, 1);
    EXPECT_EQ(roomy.parts, 1U);
    uint64_t least = UINT64_MAX;
    for (uint64_t more = 0; more < 4096; more += 64) {
      question.gpu_memory_bytes = roomy.peak_bytes() + more;
      const GpuLayout layout = choose_gpu_layout(question, 1000 * kGiB);
      ASSERT_LE(layout.peak_bytes(), question.gpu_memory_bytes);
      if (layout.far_bytes == 0 && layout.parts == 1) least = std::min(least, more);
    }
    // A batch that takes more than half of what is left has parts.
    const uint64_t taken = roomy.model_bytes + roomy.runtime_bytes;
    if (roomy.batches_bytes <= (roomy.peak_bytes() - taken) / 2) {
      EXPECT_LE(least, 2048U) << describe(recipe);
    }
  }
}

TEST(DrawingGpu, LowersNoLineAndNoPartWithMoreMemory) {
  bool in_parts = false;
  for (const recipe::Recipe& recipe : drawable()) {
    Question question = drawing_question(recipe);
    GpuLayout before;
    for (const uint64_t limit : gpu_limits()) {
      question.gpu_memory_bytes = limit;
      const GpuLayout layout = choose_gpu_layout(question, 1000 * kGiB);
      EXPECT_GE(layout.draws, before.draws) << describe(recipe) << " in " << limit;
      EXPECT_GE(layout.part_seeds, before.part_seeds) << describe(recipe) << " in " << limit;
      EXPECT_GE(layout.lines.offsets_bytes, before.lines.offsets_bytes) << limit;
      EXPECT_GE(layout.lines.neighbors_bytes, before.lines.neighbors_bytes) << limit;
      EXPECT_GE(layout.lines.features_bytes, before.lines.features_bytes) << limit;
      EXPECT_LE(layout.far_bytes, before.draws ? before.far_bytes : UINT64_MAX) << limit;
      before = layout;
      in_parts |= layout.parts > 1;
    }
    EXPECT_TRUE(before.draws);
    EXPECT_EQ(before.far_bytes, 0U);
  }
  EXPECT_TRUE(in_parts);
}

TEST(DrawingGpu, NamesTheHostWhereItHasNoRoomForLoading) {
  for (const uint64_t gpu_bytes : {2 * kGiB, 64 * kGiB}) {
    const Question question = drawing_question({}, gpu_bytes);
    const GpuLayout roomy = choose_gpu_layout(question, 1000 * kGiB);
    const uint64_t loading = roomy.host_bytes() - roomy.far_bytes;
    const GpuLayout layout = choose_gpu_layout(question, loading - 1);
    EXPECT_FALSE(layout.draws);
    EXPECT_TRUE(layout.too_small);
    EXPECT_TRUE(layout.host_too_small);
    EXPECT_NE(layout.instead.find("loading a store for the GPU takes"), std::string::npos);
    EXPECT_FALSE(choose_gpu_layout(question, loading).host_too_small);
  }
}

// However much memory there is, threads and rows of a part can be counted in 31 bits.
TEST(DrawingGpu, CutsABatchWhoseThreadsCannotBeCounted) {
  for (recipe::Recipe recipe : drawable()) {
    recipe.batch_size = 40'000'000;
    Question question = drawing_question(recipe, 1 << 20);
    question.gpu_memory_bytes = uint64_t{1'000'000} * kGiB;
    question.store.train_nodes = 60'000'000;
    for (const uint64_t columns : {uint64_t{1}, uint64_t{128}, uint64_t{4096}}) {
      question.store.columns = columns;
      const GpuLayout layout = choose_gpu_layout(question, 1000 * kGiB);
      ASSERT_TRUE(layout.draws);
      const gpu::NetworkShape shape = network_shape(recipe, question.store, layout);
      EXPECT_LE(gpu::most_threads(shape), gpu::kThreadLimit) << describe(recipe);
      EXPECT_GE(layout.part_seeds, 16U) << describe(recipe);
      EXPECT_GE(layout.parts * layout.part_seeds, recipe.batch_size);
      if (layout.parts > 1) {
        gpu::NetworkShape larger = shape;
        larger.part_seeds *= 2;
        EXPECT_GT(gpu::most_threads(larger), gpu::kThreadLimit) << "not more parts than needed";
      }
    }
  }
}

// The training nodes take much of the GPU's memory, which parts of one seed would not change.
TEST(DrawingGpu, CutsNoBatchForTheSakeOfALongPass) {
  Question question = drawing_question({.fanout = {3, 2}, .hidden = 16}, 2 * kGiB);
  question.store.train_nodes = 50'000'000;
  question.store.evaluated_nodes = 0;
  const GpuLayout layout = choose_gpu_layout(question, 1000 * kGiB);
  ASSERT_TRUE(layout.draws) << layout.instead;
  EXPECT_GT(gpu::pass_bytes(network_shape(question.recipe, question.store, layout)),
            (layout.limit_bytes - layout.runtime_bytes) / 2);
  EXPECT_EQ(layout.parts, 1U);
}

TEST(DrawingGpu, IsTooSmallForABatchOfOneSeed) {
  const GpuLayout layout = choose_gpu_layout(drawing_question({}, 600 * kMiB), 1000 * kGiB);
  EXPECT_FALSE(layout.draws);
  EXPECT_TRUE(layout.too_small);
  EXPECT_NE(layout.instead.find("600.0 MiB of GPU memory do not hold a batch of one seed"),
            std::string::npos)
      << layout.instead;
  EXPECT_EQ(layout.host_bytes(), 0U);
}

// The rest of the store is in the host's memory.
TEST(DrawingGpu, IsTooSmallWhereTheHostHasNoRoomForTheRest) {
  const Question question = drawing_question({}, 2 * kGiB);
  const GpuLayout layout = choose_gpu_layout(question, 1000 * kGiB);
  ASSERT_TRUE(layout.draws);
  ASSERT_GT(layout.far_bytes, kGiB);
  EXPECT_TRUE(choose_gpu_layout(question, layout.host_bytes()).draws);
  // With less, rows are read from disk in windows, until there is no room for windows either.
  const GpuLayout some = choose_gpu_layout(question, layout.host_bytes() - 1);
  EXPECT_TRUE(some.draws);
  EXPECT_GT(some.cold_rows, 0);
  EXPECT_LE(some.host_bytes(), layout.host_bytes() - 1);
  EXPECT_LE(some.peak_bytes(), 2 * kGiB);
  const GpuLayout less = choose_gpu_layout(question, layout.host_bytes() - layout.far_bytes);
  EXPECT_FALSE(less.draws);
  EXPECT_TRUE(less.too_small);
  EXPECT_NE(less.instead.find("of the store fit neither into 2.0 GiB of GPU memory nor into the"),
            std::string::npos)
      << less.instead;
}

// The rows of the disk begin where loading ends, and the windows have room for all of them.
TEST(DrawingGpu, BeginsTheRowsOfTheDiskWhereLoadingEnds) {
  int seen = 0;
  for (const recipe::Recipe& recipe : drawable()) {
    Question question = drawing_question(recipe, 2 * kGiB);
    for (const uint64_t row_bytes : {uint64_t{256}, uint64_t{514}, uint64_t{1536}}) {
      question.store.row_bytes = row_bytes;
      const StoreShape& store = question.store;
      const uint64_t all = choose_gpu_layout(question, 1000 * kGiB).host_bytes();
      for (uint64_t room = all - 1; room > all / 20; room -= all / 23 + 777) {
        const GpuLayout layout = choose_gpu_layout(question, room);
        if (!layout.draws) continue;
        ++seen;
        const uint64_t end = layout.lines.features_end_bytes;
        ASSERT_LT(end, store.features_bytes());
        EXPECT_EQ(ResidentStore::line_at(store.features_bytes(), end, row_bytes), end);
        EXPECT_LE(layout.lines.features_bytes, end);
        expect_lines_that_loading_keeps(question, layout);
        const uint64_t cold = store.nodes - end / row_bytes;
        EXPECT_EQ(layout.windows_bytes, gpu::ColdRows::device_bytes(cold));
        EXPECT_EQ(layout.data_bytes(), layout.adjacency_bytes + layout.features_bytes +
                                           layout.batches_bytes + layout.windows_bytes +
                                           layout.model_bytes);
        EXPECT_EQ(
            layout.windows_host_bytes,
            gpu::ColdRows::host_bytes(store.nodes, cold, {.window_bytes = layout.window_bytes}));
        EXPECT_LE(layout.host_bytes(), room);
        EXPECT_LE(layout.peak_bytes(), question.gpu_memory_bytes);
      }
    }
  }
  EXPECT_GT(seen, 100);
}

TEST(DrawingGpu, LeavesOtherRecipesToTheCpuAndSaysWhy) {
  const auto expect_reason = [](const Question& question, const std::string& part) {
    const GpuLayout layout = choose_gpu_layout(question, 1000 * kGiB);
    EXPECT_FALSE(layout.draws);
    EXPECT_FALSE(layout.too_small);
    EXPECT_NE(layout.instead.find(part), std::string::npos) << layout.instead;
  };
  expect_reason(drawing_question({.batch_norm = true}), "--batch-norm");
  expect_reason(drawing_question({.norm = recipe::Norm::sampled}), "--norm sampled");
  expect_reason(drawing_question({.sampler = recipe::Draw::labor}), "--sampler labor");
  expect_reason(drawing_question({.fanout = {33, 5}}), "a fan-out is not between 1 and 32");
  expect_reason(drawing_question({.fanout = {recipe::kAllNeighbors, 5}}), "a fan-out");
  Question question = drawing_question({});
  question.store.first_layer = graph::FirstLayer::gcn;
  expect_reason(question, "precomputed");
  question = drawing_question({});
  question.ranks = 2;
  expect_reason(question, "ranks");
  question = drawing_question({.evaluation = recipe::Evaluation::full});
  EXPECT_TRUE(choose_gpu_layout(question, 1000 * kGiB).draws) << "it trains";
  question.store.asked_nodes = 1000;
  expect_reason(question, "a prediction with all neighbours");
  expect_reason(drawing_question({}, 0), "unknown");
  question = drawing_question({});
  question.gpu_problem = "NVIDIA's compiler NVRTC is missing (libnvrtc.so.13)";
  expect_reason(question, "NVRTC is missing");
  EXPECT_TRUE(make_plan(question).fits);
  question.recipe.batch_norm = true;
  expect_reason(question, "--batch-norm");
}

TEST(DrawingGpu, HasAPassForTheTrainingNodesAndPiecesOfAnEvaluation) {
  Question question = drawing_question({.batch_size = 2'000'000});
  const auto longest = [&](uint64_t train, uint64_t evaluated, uint64_t batch_size) {
    question.store.train_nodes = train;
    question.store.evaluated_nodes = evaluated;
    question.recipe.batch_size = batch_size;
    return choose_gpu_layout(question, 1000 * kGiB).longest_pass;
  };
  EXPECT_EQ(longest(1000, 50, 64), 1000U);
  EXPECT_EQ(longest(1000, 5000, 64), 5000U);
  EXPECT_EQ(longest(1000, 9'000'000, 64), kNodesAtOnce);
  EXPECT_EQ(longest(3'000'000, 9'000'000, 64), 3'000'000U);
  // A batch is given as a whole.
  EXPECT_EQ(longest(1000, 9'000'000, 2'000'000), 2'000'000U);
}

// The host holds the nodes of one pass, however many are evaluated: the training nodes, too, at the
// end.
TEST(DrawingGpu, HasRoomOnTheHostForAPassOfAnEvaluation) {
  Question question = drawing_question({.batch_size = 1000}, 64 * kGiB);
  question.store.train_nodes = 8'000'000;
  const GpuLayout layout = choose_gpu_layout(question, 1000 * kGiB);
  EXPECT_EQ(layout.longest_pass, 8'000'000U);
  EXPECT_EQ(layout.evaluated_nodes, kNodesAtOnce);
  EXPECT_EQ(layout.evaluation_bytes, evaluation_pass_bytes(kNodesAtOnce));
  EXPECT_GE(layout.evaluation_bytes, 8 * kNodesAtOnce);
  question.recipe.evaluation = recipe::Evaluation::full;
  EXPECT_EQ(choose_gpu_layout(question, 1000 * kGiB).evaluation_bytes, 0U);
  question.recipe.evaluation = recipe::Evaluation::sampled;
  question.store.asked_nodes = 50;
  EXPECT_EQ(choose_gpu_layout(question, 1000 * kGiB).evaluation_bytes, evaluation_pass_bytes(50));
}

// ---- the whole plan ----

void expect_has(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "lacks: " << part << "\n" << text;
  }
}

TEST(DrawingPlan, HasWhatTheHostHoldsAsItsPartsWithinTheLimit) {
  int seen = 0;
  for (const recipe::Recipe& drawn : drawable()) {
    for (const auto evaluation : {recipe::Evaluation::sampled, recipe::Evaluation::full}) {
      recipe::Recipe recipe = drawn;
      recipe.evaluation = evaluation;
      for (const uint64_t gpu_bytes : {2 * kGiB, 64 * kGiB}) {
        const Question question = drawing_question(recipe, gpu_bytes);
        for (const uint64_t limit : {minimum_bytes(question), 6 * kGiB, 64 * kGiB}) {
          const Plan plan = plan_within(question, limit);
          if (!plan.on_gpu.draws || !plan.fits) continue;
          ++seen;
          uint64_t sum = 0;
          for (const MemoryPart& part : plan.parts) sum += part.bytes;
          EXPECT_EQ(sum, plan.peak_bytes);
          EXPECT_LE(plan.peak_bytes + headroom_bytes(limit), limit) << describe(recipe);
          ASSERT_EQ(plan.parts.front().name, "store");
          EXPECT_EQ(plan.parts.front().bytes, plan.on_gpu.far_bytes);
          EXPECT_EQ(plan.parts.at(1).name, "windows");
          EXPECT_EQ(plan.parts.at(1).bytes, plan.on_gpu.windows_host_bytes);
          EXPECT_EQ(plan.parts.at(2).bytes, ResidentStore::kLoadingBytes);
          EXPECT_EQ(plan.parts.back().name, "runtime");
          EXPECT_EQ(plan.parts.at(3).name, "evaluation");
          const bool full = evaluates_in_full(question.work());
          EXPECT_EQ(plan.parts.size(), 5U);
          EXPECT_EQ(plan.reads_disk(), plan.on_gpu.cold_rows > 0);
          EXPECT_GT(plan.seconds_an_epoch, 0);
          if (!full) {
            EXPECT_EQ(line_bytes(plan.arrangement.lines), 0U);
          }
        }
      }
    }
  }
  EXPECT_GT(seen, 40);
}

TEST(DrawingPlan, IsShownWithWhatTheGpuHolds) {
  const Plan plan = make_plan(drawing_question({}, 2 * kGiB));
  ASSERT_TRUE(plan.on_gpu.draws);
  ASSERT_GT(plan.on_gpu.far_bytes, 0U);
  const GpuLayout& gpu = plan.on_gpu;
  expect_has(describe(plan),
             {"store       rows and lists that the GPU reads in this memory",
              "gpu         makes the batches itself", "adjacency ", "features  ",
              format_bytes(gpu.batches_bytes), format_bytes(gpu.model_bytes), "CUDA, torch, cuBLAS",
              format_bytes(gpu.peak_bytes()) + " + " +
                  format_bytes(gpu.limit_bytes - gpu.peak_bytes()) + " unused = the limit, 2.0 GiB",
              "epoch       about ", "reads nothing from disk"});
  const auto json = to_json(plan);
  EXPECT_EQ(json["gpu"], true);
  EXPECT_EQ(json["on_gpu"]["draws"], true);
  EXPECT_EQ(json["on_gpu"]["limit_bytes"], 2 * kGiB);
  EXPECT_EQ(json["on_gpu"]["peak_bytes"], gpu.peak_bytes());
  EXPECT_EQ(json["on_gpu"]["part_seeds"], gpu.part_seeds);
  uint64_t sum = 0;
  for (const auto& part : json["on_gpu"]["parts_bytes"]) sum += part.get<uint64_t>();
  EXPECT_EQ(sum, gpu.peak_bytes());
  EXPECT_EQ(json["on_gpu"]["lines_bytes"]["features"], gpu.lines.features_bytes);
  EXPECT_EQ(json["on_gpu"]["hits"]["rows"], gpu.features_near);
  EXPECT_LT(gpu.features_near, 1);
}

TEST(DrawingPlan, SaysThatABatchHasParts) {
  Plan plan;
  for (uint64_t limit = 800 * kMiB; limit < 4 * kGiB && !plan.on_gpu.draws; limit += 16 * kMiB) {
    plan = make_plan(drawing_question({.fanout = {10, 10, 10}, .batch_size = 4096}, limit));
  }
  ASSERT_GT(plan.on_gpu.parts, 1U);
  expect_has(describe(plan), {"each in " + std::to_string(plan.on_gpu.parts) + " parts"});
}

TEST(DrawingPlan, SaysWhyTheCpuMakesTheBatches) {
  const Plan plan = make_plan(drawing_question({.batch_norm = true}));
  expect_has(describe(plan),
             {"computes; the CPU makes the batches: --batch-norm", "adjacency   resident "});
  const auto json = to_json(plan);
  EXPECT_EQ(json["on_gpu"]["draws"], false);
  EXPECT_EQ(json["on_gpu"]["instead"], plan.on_gpu.instead);
  EXPECT_TRUE(to_json(make_plan(made_up_question({})))["on_gpu"].is_null());
}

// ---- its time ----

double seconds_of(const Question& question, const GpuLayout& layout) {
  return predict_gpu_time(question, layout);
}

TEST(PredictGpuTime, GrowsWithTheBatchesAndFallsWithRowsNearby) {
  for (const recipe::Recipe& recipe : drawable()) {
    Question question = drawing_question(recipe);
    GpuLayout layout = choose_gpu_layout(question, 1000 * kGiB);
    ASSERT_TRUE(layout.draws);
    const double near = seconds_of(question, layout);
    EXPECT_GT(near, 0);
    double before = near;
    for (const double share : {0.9, 0.5, 0.0}) {
      layout.features_near = share;
      EXPECT_GT(seconds_of(question, layout), before) << describe(recipe);
      before = seconds_of(question, layout);
    }
    layout.features_near = 1;
    layout.adjacency_near = 0.5;
    if (recipe.model == ModelKind::mlp) {
      EXPECT_EQ(seconds_of(question, layout), near);
    } else {
      EXPECT_GT(seconds_of(question, layout), near);
    }
    layout.adjacency_near = 1;
    if (recipe.batch_size > question.store.train_nodes) continue;
    question.store.train_nodes *= 10;
    EXPECT_NEAR(seconds_of(question, layout), 10 * near, near) << "ten times the batches";
  }
}

TEST(PredictGpuTime, FallsWithMoreOfTheGpusMemory) {
  for (const recipe::Recipe& recipe : drawable()) {
    Question question = drawing_question(recipe);
    double before = 0;
    double first = 0;
    for (const uint64_t limit : gpu_limits()) {
      question.gpu_memory_bytes = limit;
      const GpuLayout layout = choose_gpu_layout(question, 1000 * kGiB);
      if (!layout.draws) continue;
      const double seconds = seconds_of(question, layout);
      if (before > 0) {
        // The last part of a batch may be mostly empty.
        EXPECT_LE(seconds, 1.5 * before) << describe(recipe) << " in " << limit;
      } else {
        first = seconds;
      }
      before = seconds;
    }
    EXPECT_LT(before, first);
  }
}

// A batch has no more seeds than there are training nodes.
TEST(PredictGpuTime, IsThatOfOnePartWhereAPartHoldsAllNodes) {
  Question question = drawing_question({});
  question.store.train_nodes = 500;
  question.store.evaluated_nodes = 0;
  const GpuLayout layout = choose_gpu_layout(question, 1000 * kGiB);
  ASSERT_EQ(layout.part_seeds, 500U);
  ASSERT_EQ(layout.parts, 1U);
  const double one = seconds_of(question, layout);
  question.recipe.batch_size = 500;
  EXPECT_EQ(seconds_of(question, layout), one);
}

TEST(PredictGpuTime, IsUnknownForAGpuThatWasNotMeasured) {
  Question question = drawing_question({});
  const GpuLayout layout = choose_gpu_layout(question, 1000 * kGiB);
  question.machine.step.on_gpu = {};
  EXPECT_EQ(seconds_of(question, layout), 0);
}

// With rows on disk, a plan needs both rates for its time.
TEST(DrawingPlan, SaysThatTheTimeIsUnknownWhereTheGpuOrTheDiskWasNotMeasured) {
  Question question = drawing_question({}, 2 * kGiB);
  const Plan roomy = make_plan(question);
  ASSERT_GT(roomy.on_gpu.far_bytes, kGiB);
  question.limit_bytes = roomy.peak_bytes - kGiB / 2;
  const Plan plan = make_plan(question);
  ASSERT_TRUE(plan.on_gpu.draws);
  ASSERT_GT(plan.on_gpu.cold_rows, 0);
  EXPECT_GT(plan.seconds_an_epoch, 0);
  EXPECT_EQ(plan.reads.rows, plan.on_gpu.cold_rows);
  EXPECT_EQ(plan.reads.lists, 0);
  const auto json = to_json(plan);
  EXPECT_LT(json["resident"]["features"], 1);
  EXPECT_EQ(json["resident"]["adjacency"], 1);
  EXPECT_LT(json["hits"]["rows"], 1);
  Question no_gpu = question;
  no_gpu.machine.step.on_gpu = {};
  Question no_disk = question;
  no_disk.machine.reads_per_second = 0;
  for (const Question& unknown : {no_gpu, no_disk}) {
    const Plan without = make_plan(unknown);
    ASSERT_GT(without.on_gpu.cold_rows, 0);
    EXPECT_EQ(without.seconds_an_epoch, 0);
    expect_has(describe(without), {"time unknown: not measured here"});
    EXPECT_TRUE(to_json(without)["epoch_seconds"].is_null());
  }
}

// It computes with the rows of all sources, and holds them.
TEST(PredictGpuTime, IsLongerForAttentionWhichTakesMoreMemory) {
  const Question gat = drawing_question({.model = ModelKind::gat});
  const Question gcn = drawing_question({.model = ModelKind::gcn});
  const GpuLayout gats = choose_gpu_layout(gat, 1000 * kGiB);
  const GpuLayout gcns = choose_gpu_layout(gcn, 1000 * kGiB);
  ASSERT_EQ(gats.parts, 1U);
  EXPECT_GT(seconds_of(gat, gats), 2 * seconds_of(gcn, gcns));
  // The last hop's fan-out is 10.
  EXPECT_GT(gats.batches_bytes, 5 * gcns.batches_bytes);
}

TEST(PredictGpuTime, CountsEveryRate) {
  Question question = drawing_question({.model = ModelKind::sage});
  GpuLayout layout = choose_gpu_layout(question, 1000 * kGiB);
  layout.features_near = layout.adjacency_near = 0.5;
  const double before = seconds_of(question, layout);
  for (double gpu::GpuRates::*rate :
       {&gpu::GpuRates::pass_bytes, &gpu::GpuRates::row_bytes, &gpu::GpuRates::far_bytes,
        &gpu::GpuRates::narrow_flops, &gpu::GpuRates::wide_flops}) {
    Question slower = question;
    slower.machine.step.on_gpu.*rate /= 2;
    EXPECT_GT(seconds_of(slower, layout), before);
    EXPECT_LT(seconds_of(slower, layout), 2 * before);
  }
  question.machine.step.on_gpu.start_seconds *= 2;
  EXPECT_GT(seconds_of(question, layout), before);
}

}  // namespace
}  // namespace plimsoll::plan
