// An evaluation with all neighbours says the same, to the bit, wherever features, lists and hidden
// rows are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "graph/store.h"
#include "nn/dense_model.h"
#include "nn/threads.h"
#include "sample/small_graph.h"
#include "temp_folder.h"
#include "train/data.h"
#include "train/inference.h"
#include "train/small_run.h"

namespace plimsoll::train {
namespace {

constexpr uint32_t kNodes = 50'000;
constexpr uint32_t kColumns = 32;  // of features, three steps, and of what is hidden
constexpr uint64_t kRowBytes = kColumns * sizeof(float);
constexpr uint64_t kStep = io::kLineStepBytes;
constexpr uint64_t kSpareBytes = 32 * kMiB;  // what hidden rows leave to others

// Short lists, but for that of node 0.
sample::Lists lists() {
  sample::Lists lists = sample::random_lists(kNodes, 5, 21);
  lists[0].resize(3000);
  return lists;
}

std::vector<std::byte> rows() {
  std::vector<std::byte> bytes(kNodes * kRowBytes);
  for (uint64_t i = 0; i < kNodes * kColumns; ++i) {
    const auto value = static_cast<float>(unit_interval(mix64(i)) - 0.5);
    std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
  }
  return bytes;
}

// Where things are. `hidden_bytes` is what is resident of the last hidden layer.
struct Where {
  const char* name;
  plan::Lines lines;
  uint64_t left_bytes;
  uint64_t hidden_bytes;
};
const std::vector<Where>& places() {
  static const std::vector<Where> all = {
      {"all in memory", {}, kGiB, UINT64_MAX},
      {"features on disk", {.features_bytes = 0}, kGiB, UINT64_MAX},
      {"features partly on disk", {.features_bytes = 2 * kStep}, kGiB, UINT64_MAX},
      {"lists on disk", {0, 0, UINT64_MAX}, kGiB, UINT64_MAX},
      {"hidden rows on disk", {}, 24 * kMiB, 0},
      {"hidden rows partly on disk", {}, kSpareBytes + kStep + 400 * kKiB, kStep},
      {"all on disk", {0, 0, 0}, 24 * kMiB, 0},
  };
  return all;
}

class LinedInference : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    temp_ = new TempFolder;
    sample::write_store(*temp_ / "store", {.lists = lists(),
                                           .feature_type = graph::FeatureType::f32,
                                           .feature_columns = kColumns,
                                           .rows = rows()});
  }
  static void TearDownTestSuite() { delete temp_; }

  // Asks a model about some nodes, with all neighbours.
  class Run {
   public:
    Run(const Where& where, nn::Model& model)
        : model_(model),
          data_(load_data(store_, arrangement(where), {.threads = 2, .quiet = true}, ledger_)),
          others_(ledger_.available_bytes() > where.left_bytes
                      ? ledger_.lease("others", ledger_.available_bytes() - where.left_bytes)
                      : memory::Lease()),
          place_{data_.topology, arrangement(where), kCpu, ledger_},
          source_(place_, data_.rows,
                  {.fanout = {3, 2, 2},
                   .assembly = batch::assembly_for(model.shape().kind, recipe::Norm::full)}) {}

    std::vector<Said> say(Evaluation evaluation = Evaluation::full) {
      Inference inference(model_, place_, data_.rows, source_,
                          {.evaluation = evaluation,
                           .batch_size = 500,
                           .embeddings = true,
                           .scratch = temp_->path(),
                           .full_batch_bytes = kSpareBytes});
      const std::vector<NodeQuery> queries = {{batch::Seeds::in_order(asked_.nodes), asked_.labels},
                                              {batch::Seeds::in_order(few_), {}}};
      return ask(inference, queries, model_.shape(), [this] {
        for (const auto& usage : ledger_.usage()) {
          if (usage.tag != "hidden rows") continue;
          most_hidden_bytes_ = std::max(most_hidden_bytes_, usage.bytes);
        }
      });
    }
    // While the last layer was computed.
    uint64_t most_hidden_bytes() const { return most_hidden_bytes_; }
    const Data& data() const { return data_; }
    memory::Ledger& ledger() { return ledger_; }

   private:
    static plan::Arrangement arrangement(const Where& where) {
      return {.lines = where.lines,
              .workers = 2,
              .area_bytes = kMiB,
              .window = 2,
              .window_bytes = 4 * kMiB};
    }

    const graph::Store store_ = graph::open(*temp_ / "store");
    memory::Ledger ledger_{kGiB};
    nn::Model& model_;
    const Data data_;
    const memory::Lease others_;
    const Place place_;
    BatchFeed source_;
    const Asked asked_{kNodes};
    const std::vector<uint32_t> few_ = {0, 5, kNodes - 1};
    uint64_t most_hidden_bytes_ = 0;
  };

  static nn::ModelShape shape(ModelKind kind) {
    nn::ModelShape shape = shape_of(kind, 3);
    shape.inputs = kColumns;
    shape.hidden = kColumns;
    return shape;
  }

  static inline TempFolder* temp_ = nullptr;
};

void expect_same(const std::vector<Said>& said, const std::vector<Said>& expected) {
  ASSERT_EQ(said.size(), expected.size());
  for (size_t i = 0; i < said.size(); ++i) {
    EXPECT_TRUE(said[i].logits.equal(expected[i].logits)) << "logits of question " << i;
    EXPECT_TRUE(said[i].embeddings.equal(expected[i].embeddings)) << "embeddings of " << i;
  }
}

TEST_F(LinedInference, SaysTheSameWhereverThingsAre) {
  nn::set_computing_threads(1);
  for (const ModelKind kind : {ModelKind::gcn, ModelKind::sage, ModelKind::gat}) {
    nn::Model model(shape(kind), 1, kCpu);
    nn::shake(model);
    std::vector<Said> expected;
    for (const Where& where : places()) {
      SCOPED_TRACE(std::string(recipe::name(kind)) + ", " + where.name);
      Run run(where, model);
      const std::vector<Said> said = run.say();
      if (expected.empty()) {
        expected = said;
        ASSERT_FALSE(said[0].logits.isnan().any().item<bool>());
      }
      ASSERT_NO_FATAL_FAILURE(expect_same(said, expected));
      if (where.hidden_bytes == UINT64_MAX) {
        EXPECT_GT(run.most_hidden_bytes(), kStep + kStep / 4);
      } else {
        EXPECT_EQ(run.most_hidden_bytes(), where.hidden_bytes);
      }
    }
  }
}

// Training's pipeline and each evaluation's read the same rows from disk, again and again.
TEST_F(LinedInference, MayFollowAnother) {
  nn::set_computing_threads(1);
  nn::Model model(shape(ModelKind::sage), 1, kCpu);
  nn::shake(model);
  Run run(places().back(), model);
  const std::vector<Said> sampled = run.say(Evaluation::sampled);
  const std::vector<Said> full = run.say(Evaluation::full);
  for (int round = 0; round < 3; ++round) {
    ASSERT_NO_FATAL_FAILURE(expect_same(run.say(Evaluation::sampled), sampled));
    ASSERT_NO_FATAL_FAILURE(expect_same(run.say(Evaluation::full), full));
  }
  EXPECT_TRUE(names_in(temp_->path()) == std::vector<std::string>{"store"});
}

TEST_F(LinedInference, SaysTheSameWhenLinesGoDownForIt) {
  nn::set_computing_threads(1);
  nn::Model model(shape(ModelKind::gcn), 1, kCpu);
  nn::shake(model);
  const std::vector<Said> expected = Run(places().front(), model).say();
  Run run(places().front(), model);
  run.ledger().set_limit(run.ledger().used_bytes() + kMiB);  // too little for batches
  const std::vector<Said> said = run.say();
  EXPECT_FALSE(run.data().rows.file().resident());
  for (size_t i = 0; i < said.size(); ++i) {
    EXPECT_TRUE(said[i].logits.allclose(expected[i].logits, 1e-5, 1e-6));
  }
}

TEST_F(LinedInference, LoadsAsFarAsTheLinesSay) {
  nn::Model model(shape(ModelKind::gcn), 1, kCpu);
  for (const Where& where : places()) {
    const Run run(where, model);
    const auto line_of = [](uint64_t line_bytes, const io::LinedFile& file) {
      return std::min(line_bytes, file.bytes());
    };
    const Data& data = run.data();
    EXPECT_EQ(data.rows.file().line_bytes(), line_of(where.lines.features_bytes, data.rows.file()));
    EXPECT_EQ(data.topology.offsets().line_bytes(),
              line_of(where.lines.offsets_bytes, data.topology.offsets()));
    EXPECT_EQ(data.topology.neighbors().line_bytes(),
              line_of(where.lines.neighbors_bytes, data.topology.neighbors()));
  }
}

}  // namespace
}  // namespace plimsoll::train
