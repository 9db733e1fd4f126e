// Batches that a GPU makes and computes, on the CPU in its place, against those of the pipeline and
// the layers: the same draws, sums, logits, losses and steps, in parts and as a whole.
#include "train/gpu_training.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/half.h"
#include "base/random.h"
#include "base/units.h"
#include "nn/dense_model.h"
#include "sample/small_graph.h"
#include "temp_folder.h"
#include "train/batch_feed.h"
#include "train/data.h"
#include "train/small_run.h"

namespace plimsoll::train {
namespace {

constexpr uint32_t kAllNodes = 400;
constexpr uint64_t kDraws = 11;
constexpr uint64_t kDropout = 12;

std::vector<std::byte> random_rows(graph::FeatureType type, uint64_t columns) {
  const uint64_t row_bytes = graph::padded_row_bytes(type, columns);
  std::vector<std::byte> rows(kAllNodes * row_bytes, std::byte{0x7f});  // padding that would show
  std::vector<float> values(columns);
  std::vector<uint16_t> halves(columns);
  for (uint64_t node = 0; node < kAllNodes; ++node) {
    for (uint64_t i = 0; i < columns; ++i) {
      values[i] = static_cast<float>(unit_interval(RandomStream(columns, node).at(i)) - 0.5);
    }
    to_half(values, halves);
    const bool half = type == graph::FeatureType::f16;
    const void* const from = half ? static_cast<const void*>(halves.data()) : values.data();
    std::memcpy(&rows[node * row_bytes], from, columns * (half ? 2 : 4));
  }
  return rows;
}

// A store, and what the CPU makes of it.
class StoreOnDisk {
 public:
  StoreOnDisk(graph::FeatureType type, uint64_t columns, uint64_t classes)
      : store_(opened(type, columns, classes)), data_(load_data(store_, {}, run_, ledger_)) {}

  const graph::Store& store() const { return store_; }
  const Data& data() const { return data_; }
  memory::Ledger& ledger() { return ledger_; }
  BatchFeed feed(const recipe::Recipe& recipe) {
    return BatchFeed(Place{data_.topology, {.workers = 1}, kCpu, ledger_}, data_.rows,
                     batches_of(recipe));
  }
  nn::Model model(const recipe::Recipe& recipe) const {
    nn::Model model({.kind = recipe.model,
                     .inputs = static_cast<int64_t>(store_.meta().feature_columns),
                     .hidden = static_cast<int64_t>(recipe.hidden),
                     .classes = static_cast<int64_t>(store_.meta().classes),
                     .layers = static_cast<int64_t>(recipe.fanout.size()),
                     .heads = static_cast<int64_t>(recipe.heads),
                     .dropout = recipe.dropout},
                    1, kCpu);
    nn::shake(model);
    return model;
  }

 private:
  graph::Store opened(graph::FeatureType type, uint64_t columns, uint64_t classes) const {
    sample::SmallStore small = {.lists = sample::random_lists(kAllNodes, 12, 3),
                                .classes = classes,
                                .feature_type = type,
                                .feature_columns = columns,
                                .rows = random_rows(type, columns)};
    for (uint32_t node = 0; node < kAllNodes; ++node) {
      small.labels.push_back(static_cast<int32_t>(RandomStream(1, node).at(0) % classes));
      small.splits.at(node % 8 < 5 ? 0 : 1).push_back(node);  // 250 and 150
    }
    sample::write_store(temp_ / "store", small);
    return graph::open(temp_ / "store");
  }

  TempFolder temp_;
  memory::Ledger ledger_{kGiB};
  const Execution run_ = {.quiet = true};
  const graph::Store store_;
  const Data data_;
};

struct Layout {
  uint32_t part_seeds = 100;
  uint64_t longest_pass = 250;
  uint64_t evaluated_nodes = 250;
  uint64_t line_bytes = 12'288;              // some of each file is in the memory of the host
  uint64_t features_end_bytes = UINT64_MAX;  // no row is on disk
  uint64_t window_bytes = 0;
};

// A model and its optimizer on a GPU with no more memory than was planned.
struct Gpu {
  Gpu(StoreOnDisk& of, const recipe::Recipe& recipe, const Layout& layout = {})
      : job{.store = of.store(),
            .recipe = recipe,
            .run = {.quiet = true},
            .plan = planned(of.store().meta(), recipe, layout),
            .ledger = of.ledger()},
        model(of.model(recipe)),
        adam(model.values()) {
    ::setenv("PLIMSOLL_GPU", "host", 1);
    gpu.emplace(GpuTraining::Job{job.store, job.recipe, job.plan, job.run, job.ledger, kCpu});
    gpu->prepare(model, &adam);
  }
  ~Gpu() { ::unsetenv("PLIMSOLL_GPU"); }

  static plan::Plan planned(const graph::Meta& meta, const recipe::Recipe& recipe,
                            const Layout& layout) {
    plan::Plan plan;
    plan::GpuLayout& gpu = plan.on_gpu;
    gpu.part_seeds = layout.part_seeds;
    gpu.longest_pass = layout.longest_pass;
    gpu.evaluated_nodes = std::min<uint64_t>(layout.longest_pass, layout.evaluated_nodes);
    gpu.lines = {.offsets_bytes = layout.line_bytes,
                 .neighbors_bytes = layout.line_bytes,
                 .features_bytes = layout.line_bytes,
                 .features_end_bytes = layout.features_end_bytes,
                 .lists = recipe.model != ModelKind::mlp};
    const auto taken = [&](uint64_t bytes, uint64_t value_bytes) {
      const uint64_t line = gpu::ResidentStore::line_at(bytes, layout.line_bytes, value_bytes);
      return gpu::ResidentStore::device_bytes(bytes, line);
    };
    gpu.features_bytes = taken(meta.nodes * meta.row_bytes, meta.row_bytes);
    if (gpu.lines.lists)
      gpu.adjacency_bytes = taken((meta.nodes + 1) * 8, 8) + taken(meta.edges * 4, 4);
    gpu.batches_bytes = gpu::network_bytes({.recipe = recipe,
                                            .columns = meta.feature_columns,
                                            .classes = meta.classes,
                                            .part_seeds = layout.part_seeds,
                                            .longest_pass = layout.longest_pass});
    gpu.runtime_bytes = plan::kGpuContextBytes;
    gpu.window_bytes = layout.window_bytes;
    if (layout.window_bytes > 0) gpu.windows_bytes = gpu::ColdRows::device_bytes(meta.nodes);
    gpu.limit_bytes = gpu.peak_bytes();
    return plan;
  }

  void begin(const batch::Split& split, uint64_t shuffle_key) {
    gpu->begin({.split = split,
                .shuffle_key = shuffle_key,
                .draws_key = kDraws,
                .dropout_key = kDropout,
                .lr = job.recipe.lr});
  }
  Said evaluate(const batch::Split& split) {
    const auto rows = static_cast<int64_t>(split.nodes.size());
    Said said{at::full({rows, model.shape().classes}, NAN),
              at::full({rows, model.shape().hidden}, NAN),
              {}};
    const batch::Seeds seeds = batch::Seeds::in_order(split.nodes.span());
    gpu->evaluate(
        {.seeds = seeds, .labels = split.labels.span(), .draws_key = kDraws, .embeddings = true},
        [&](const GpuTraining::EvaluatedPart& part) {
          const auto first = static_cast<int64_t>(part.first);
          const int64_t count = part.outputs.logits.size(0);
          said.logits.narrow(0, first, count).copy_(part.outputs.logits);
          if (part.outputs.embeddings.defined()) {
            said.embeddings.narrow(0, first, count).copy_(part.outputs.embeddings);
          }
          for (int64_t i = 0; i < count; ++i) {
            said.labels.push_back(part.labels[i].item<int32_t>());
          }
        });
    return said;
  }

  TrainJob job;
  nn::Model model;
  nn::Adam adam;
  std::optional<GpuTraining> gpu;
};

recipe::Recipe recipe_for(ModelKind model, size_t layers, bool all = false) {
  recipe::Recipe recipe;
  recipe.model = model;
  recipe.fanout = {4, 3, 2};
  recipe.fanout.resize(layers);
  recipe.hidden = 10;
  recipe.heads = 2;
  recipe.dropout = all ? 0.4 : 0;
  recipe.label_smoothing = all ? 0.1 : 0;
  recipe.weight_decay = all ? 0.01 : 0;
  recipe.batch_size = 100;
  recipe.lr = 0.001;
  return recipe;
}

// The model, the number of layers, and whether there are dropout, smoothing and weight decay.
class GpuTrainingTest : public testing::TestWithParam<std::tuple<ModelKind, int, bool>> {
 protected:
  recipe::Recipe recipe() const {
    const auto [model, layers, all] = GetParam();
    return recipe_for(model, static_cast<size_t>(layers), all);
  }
  StoreOnDisk store_{graph::FeatureType::f32, 7, 5};
};

INSTANTIATE_TEST_SUITE_P(Models, GpuTrainingTest,
                         testing::Combine(testing::Values(ModelKind::gcn, ModelKind::sage,
                                                          ModelKind::gat, ModelKind::mlp),
                                          testing::Values(1, 2, 3), testing::Bool()),
                         [](const auto& of) {
                           return std::string(recipe::name(std::get<0>(of.param))) +
                                  std::to_string(std::get<1>(of.param)) +
                                  (std::get<2>(of.param) ? "regularized" : "");
                         });

void expect_trains_as_the_layers_do(StoreOnDisk& store, const recipe::Recipe& recipe) {
  const batch::Split& split = store.data().splits.train;
  Gpu gpu(store, recipe);
  nn::Model model = store.model(recipe);
  nn::Adam adam(model.values());
  BatchFeed feed = store.feed(recipe);
  gpu.begin(split, /*shuffle_key=*/5);
  feed.feeder.start({.seeds = batch::Seeds::shuffled(split.nodes.span(), 5),
                     .labels = split.labels.span(),
                     .batch_size = 100,
                     .key = kDraws,
                     .gradients = true});
  uint64_t batches = 0;
  for (const FedBatch* fed = &feed.feeder.next(); fed->batch != nullptr;
       fed = &feed.feeder.next(), ++batches) {
    model.gradients().zero_();
    const at::Tensor logits =
        model.forward(*fed->tensors, /*training=*/true, RandomStream(kDropout, 0).at(batches))
            .logits;
    const nn::Loss loss =
        nn::cross_entropy(logits, fed->tensors->labels, recipe.label_smoothing, fed->batch->of_all);
    model.backward(loss.gradient);
    adam.step(model.values(), model.gradients(), recipe.lr, recipe.weight_decay);
    feed.feeder.done();
    gpu.gpu->train();
    float sum = 0;
    gpu.gpu->losses(batches, {&sum, 1});
    EXPECT_NEAR(sum, loss.sum.item<double>(), 1e-5 * loss.sum.item<double>()) << batches;
    ASSERT_GT(nn::scale_of(adam.mean), 1e-3);
    EXPECT_LE(nn::distance(gpu.adam.mean, adam.mean), 1e-5 * nn::scale_of(adam.mean)) << batches;
    EXPECT_LE(nn::distance(gpu.model.values(), model.values()), 1e-5) << batches;
  }
  EXPECT_EQ(batches, 3U);
  EXPECT_EQ(gpu.adam.steps, 3);
  EXPECT_GT(nn::distance(model.values(), store.model(recipe).values()), 1e-3) << "nothing moved";
}

TEST_P(GpuTrainingTest, TrainsAsTheLayersDo) { expect_trains_as_the_layers_do(store_, recipe()); }

// Heads of one channel to one head of all, in rows that are read in fours and in others.
TEST(GpuTraining, AttendsWithAnyNumberOfHeads) {
  StoreOnDisk store(graph::FeatureType::f32, 8, 4);
  for (const uint64_t hidden : {10U, 12U, 16U}) {
    for (uint64_t heads = 1; heads <= hidden; ++heads) {
      if (hidden % heads != 0) continue;
      SCOPED_TRACE(testing::Message() << heads << " heads of " << hidden / heads);
      recipe::Recipe recipe = recipe_for(ModelKind::gat, 2, /*all=*/true);
      recipe.hidden = hidden;
      recipe.heads = heads;
      expect_trains_as_the_layers_do(store, recipe);
    }
  }
}

TEST_P(GpuTrainingTest, EvaluatesAsTheLayersDo) {
  const batch::Split& split = store_.data().splits.valid;
  Gpu gpu(store_, recipe());
  nn::Model model = store_.model(recipe());
  BatchFeed feed = store_.feed(recipe());
  const Said said = gpu.evaluate(split);
  EXPECT_EQ(said.labels, std::vector<int32_t>(split.labels.begin(), split.labels.end()));
  feed.feeder.start(
      {.seeds = batch::Seeds::in_order(split.nodes.span()), .batch_size = 100, .key = kDraws});
  for (const FedBatch* fed = &feed.feeder.next(); fed->batch != nullptr;
       fed = &feed.feeder.next()) {
    const nn::Outputs outputs = model.forward(*fed->tensors, /*training=*/false);
    const auto first = static_cast<int64_t>(fed->batch->first_seed);
    nn::expect_close(said.logits.narrow(0, first, outputs.logits.size(0)), outputs.logits,
                     "logits");
    if (outputs.embeddings.defined()) {
      nn::expect_close(said.embeddings.narrow(0, first, outputs.logits.size(0)), outputs.embeddings,
                       "embeddings");
    }
    feed.feeder.done();
  }
}

TEST_P(GpuTrainingTest, EvaluatesTheSameInPartsAndInPieces) {
  const batch::Split& split = store_.data().splits.valid;
  const Said whole = Gpu(store_, recipe()).evaluate(split);
  for (const uint32_t part_seeds : {1U, 7U, 50U, 99U}) {
    const Said parts = Gpu(store_, recipe(), {.part_seeds = part_seeds}).evaluate(split);
    EXPECT_TRUE(parts.logits.equal(whole.logits)) << part_seeds;
    EXPECT_EQ(parts.labels, whole.labels);
  }
  // A pass of one batch at a time; all in the GPU's memory, and nothing.
  const Said pieces =
      Gpu(store_, recipe(), {.longest_pass = 130, .line_bytes = UINT64_MAX}).evaluate(split);
  EXPECT_TRUE(pieces.logits.equal(whole.logits));
  EXPECT_TRUE(Gpu(store_, recipe(), {.line_bytes = 0}).evaluate(split).logits.equal(whole.logits));
}

TEST_P(GpuTrainingTest, HasTheGradientsOfTheWholeInParts) {
  const batch::Split& split = store_.data().splits.train;
  const auto trained = [&](uint32_t part_seeds) {
    auto gpu = std::make_unique<Gpu>(store_, recipe(), Layout{.part_seeds = part_seeds});
    gpu->begin(split, 8);
    gpu->gpu->train();
    return gpu;
  };
  const auto whole = trained(100);
  float whole_loss = 0;
  whole->gpu->losses(0, {&whole_loss, 1});
  for (const uint32_t part_seeds : {1U, 33U, 64U, 99U}) {
    const auto parts = trained(part_seeds);
    float loss = 0;
    parts->gpu->losses(0, {&loss, 1});
    EXPECT_NEAR(loss, whole_loss, 1e-6 * whole_loss) << part_seeds;
    EXPECT_LE(nn::distance(parts->adam.mean, whole->adam.mean),
              1e-6 * std::max(1.0, nn::scale_of(whole->adam.mean)))
        << part_seeds;
    EXPECT_EQ(nn::scale_of(parts->model.gradients()), 0) << "for the next batch";
  }
}

// The plan of its memory is all that it takes.
TEST_P(GpuTrainingTest, TakesAllThatWasPlanned) {
  Gpu gpu(store_, recipe());
  gpu.begin(store_.data().splits.train, 1);
  gpu.gpu->train();
  gpu.evaluate(store_.data().splits.valid);
  const GpuMemoryUse memory = gpu.gpu->memory();
  EXPECT_EQ(memory.peak_bytes, gpu.job.plan.on_gpu.limit_bytes);
  EXPECT_EQ(memory.peak_bytes, memory.planned_bytes);
  for (const GpuMemoryUse::Part& part : memory.parts) {
    if (!part.taken_bytes) continue;  // torch takes it, or there is no such part
    EXPECT_EQ(part.taken_bytes, part.planned_bytes) << part.name;
  }
  const auto batches = std::ranges::find(memory.parts, "batches", &GpuMemoryUse::Part::name);
  ASSERT_NE(batches, memory.parts.end());
  EXPECT_GT(batches->taken_bytes, 0U);
}

// Rows are read from disk in windows: every node finds its own row, wherever the lines were asked
// for.
TEST(GpuTraining, FindsEveryRowWhereverTheDiskBegins) {
  for (const uint64_t columns : {7U, 40U, 300U}) {
    for (const auto& [model, type] : {std::pair(ModelKind::sage, graph::FeatureType::f16),
                                      {ModelKind::sage, graph::FeatureType::f32},
                                      {ModelKind::gat, graph::FeatureType::f16}}) {
      StoreOnDisk store(type, columns, 5);
      recipe::Recipe recipe = recipe_for(model, 2);
      recipe.fanout = {2, 2};
      recipe.batch_size = 10;
      const batch::Splits& splits = store.data().splits;
      Gpu memory(store, recipe, {.line_bytes = UINT64_MAX});
      const at::Tensor train = memory.evaluate(splits.train).logits;
      const at::Tensor valid = memory.evaluate(splits.valid).logits;
      const uint64_t row_bytes = store.store().meta().row_bytes;
      for (const uint64_t rows : {1U, 30U, 131U, 257U, 399U}) {
        for (const uint64_t line : {uint64_t{0}, rows * row_bytes / 2, rows * row_bytes + 5}) {
          Gpu disk(store, recipe,
                   {.line_bytes = line,
                    .features_end_bytes = rows * row_bytes + 3,
                    .window_bytes = 150 * row_bytes});
          EXPECT_TRUE(disk.evaluate(splits.train).logits.equal(train)) << columns << " " << rows;
          EXPECT_TRUE(disk.evaluate(splits.valid).logits.equal(valid)) << columns << " " << rows;
          const batch::ReadCounts reads = disk.gpu->reads();
          EXPECT_GT(reads.reads, 0U);
          EXPECT_GE(reads.bytes, reads.rows_on_disk * row_bytes);
          EXPECT_EQ(reads.window_batches, 25U + 15U);
          EXPECT_GE(reads.windows, rows == 1 ? 10U : 2U) << columns << " " << rows;
          EXPECT_NE(reads.method, "");
        }
      }
    }
  }
}

// A batch that holds every node, and the largest number that a recipe may have.
TEST(GpuTraining, TakesABatchSizeBeyondAllNodes) {
  StoreOnDisk store(graph::FeatureType::f32, 7, 5);
  recipe::Recipe recipe = recipe_for(ModelKind::sage, 2);
  recipe.batch_size = 250;
  const auto trained = [&](uint64_t batch_size) {
    recipe.batch_size = batch_size;
    auto gpu = std::make_unique<Gpu>(store, recipe, Layout{.part_seeds = 250});
    gpu->begin(store.data().splits.train, 8);
    gpu->gpu->train();
    return gpu;
  };
  const auto one = trained(250);
  for (const uint64_t batch_size : {uint64_t{251}, uint64_t{1} << 32, UINT64_MAX}) {
    const auto more = trained(batch_size);
    EXPECT_TRUE(more->model.values().equal(one->model.values())) << batch_size;
    EXPECT_TRUE(more->evaluate(store.data().splits.valid)
                    .logits.equal(one->evaluate(store.data().splits.valid).logits));
  }
}

// Continuing a pass from its second batch is the same as going through all of it.
TEST(GpuTraining, BeginsWithAnyBatchOfAPass) {
  StoreOnDisk store(graph::FeatureType::f32, 7, 5);
  const recipe::Recipe recipe = recipe_for(ModelKind::sage, 2, /*all=*/true);
  Gpu all(store, recipe);
  all.begin(store.data().splits.train, 3);
  for (int i = 0; i < 3; ++i) all.gpu->train();
  Gpu first(store, recipe);
  first.begin(store.data().splits.train, 3);
  first.gpu->train();
  Gpu rest(store, recipe);
  rest.model.values().copy_(first.model.values());
  rest.adam.mean.copy_(first.adam.mean);
  rest.adam.square.copy_(first.adam.square);
  rest.adam.steps = first.adam.steps;
  rest.gpu->begin({.split = store.data().splits.train,
                   .shuffle_key = 3,
                   .draws_key = kDraws,
                   .dropout_key = kDropout,
                   .first_batch = 1,
                   .lr = recipe.lr});
  rest.gpu->train();
  rest.gpu->train();
  EXPECT_TRUE(rest.model.values().equal(all.model.values()));
}

// As many classes as columns: with the identity as weights, a layer's results are what it was
// given.
class FirstSums
    : public testing::TestWithParam<std::tuple<ModelKind, graph::FeatureType, uint64_t>> {
 protected:
  static void set(nn::Model& model, const std::string& name) {
    model.values().zero_();
    for (const nn::NamedTensor& named : model.parameters()) {
      if (named.name == name) named.tensor.fill_diagonal_(1);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Rows, FirstSums,
                         testing::Combine(testing::Values(ModelKind::gcn, ModelKind::sage),
                                          testing::Values(graph::FeatureType::f16,
                                                          graph::FeatureType::f32),
                                          testing::Values(1, 13, 16)),
                         [](const auto& of) {
                           return std::string(recipe::name(std::get<0>(of.param))) +
                                  std::string(graph::name(std::get<1>(of.param))) +
                                  std::to_string(std::get<2>(of.param));
                         });

TEST_P(FirstSums, HaveTheBitsOfTheAssemblers) {
  const auto [kind, type, columns] = GetParam();
  StoreOnDisk store(type, columns, columns);
  recipe::Recipe recipe = recipe_for(kind, 1);
  for (const uint32_t fanout : {1U, 5U, 32U}) {
    recipe.fanout = {fanout};
    Gpu gpu(store, recipe);
    const batch::Split& split = store.data().splits.train;
    const bool sage = kind == ModelKind::sage;
    set(gpu.model, sage ? "conv1.lin_l.weight" : "conv1.lin.weight");
    const at::Tensor sums = gpu.evaluate(split).logits;
    set(gpu.model, "conv1.lin_r.weight");
    const at::Tensor own = gpu.evaluate(split).logits;
    BatchFeed feed = store.feed(recipe);
    feed.feeder.start(
        {.seeds = batch::Seeds::in_order(split.nodes.span()), .batch_size = 100, .key = kDraws});
    for (const FedBatch* fed = &feed.feeder.next(); fed->batch != nullptr;
         fed = &feed.feeder.next()) {
      const auto rows_of = [&](const at::Tensor& all) {
        return all.narrow(0, static_cast<int64_t>(fed->batch->first_seed), fed->batch->seeds);
      };
      EXPECT_TRUE(rows_of(sums).equal(fed->tensors->input)) << fanout;
      if (sage) {
        EXPECT_TRUE(rows_of(own).equal(fed->tensors->own)) << fanout;
      }
      ASSERT_GT(nn::scale_of(fed->tensors->input), 0.1);
      feed.feeder.done();
    }
  }
}

}  // namespace
}  // namespace plimsoll::train
