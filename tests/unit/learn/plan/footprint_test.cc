#include "plan/footprint.h"

#include <gtest/gtest.h>

#include "made_up_store.h"

namespace plimsoll::plan {
namespace {

using recipe::ModelKind;

double gib(uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(kGiB); }

// Measured with PyG 2.8 on data of an eighth of papers100M: 10.7 GiB loaded, 20.9 GiB at the peak;
// of the whole, directed, 78.8 GiB loaded, and killed at 122 GiB while the loader was made.
TEST(Pyg, NeedsWhatWasMeasured) {
  const StoreShape eighth = {.nodes = 111'059'956 / 8, .edges = 1'615'685'872 / 8, .columns = 128};
  EXPECT_NEAR(gib(pyg_loaded_bytes(eighth)), 10.7, 0.1);
  EXPECT_NEAR(gib(pyg_bytes(eighth)), 20.9, 0.2);
  const StoreShape whole = {.nodes = 111'059'956, .edges = 1'615'685'872, .columns = 128};
  EXPECT_NEAR(gib(pyg_loaded_bytes(whole)), 78.8, 0.5);
  EXPECT_GT(gib(pyg_bytes(whole)), 122);
}

TEST(ParameterCount, IsThatOfTheModels) {
  const auto count = [](const recipe::Recipe& recipe) {
    const Question question = made_up_question(recipe, 100'000);
    return nn::parameter_count(dimensions(question.work()));
  };
  EXPECT_EQ(count({}), 128 * 256 + 256 + 256 * 172 + 172);
  EXPECT_EQ(count({.model = ModelKind::sage}), 2 * 128 * 256 + 256 + 2 * 256 * 172 + 172);
  EXPECT_EQ(count({.model = ModelKind::mlp}), 128 * 256 + 256 + 256 * 172 + 172);
  EXPECT_EQ(count({.fanout = {5}}), 128 * 172 + 172);
}

// Twice as wide, as deep or as many: more bytes of everything it concerns.
TEST(Footprint, GrowsWithWhatItIsMadeOf) {
  const Question small = made_up_question({.hidden = 64, .batch_size = 256});
  const Question wide = made_up_question({.hidden = 512, .batch_size = 256});
  const Question large = made_up_question({.hidden = 64, .batch_size = 512});
  EXPECT_GT(model_bytes(wide.work()), model_bytes(small.work()));
  EXPECT_EQ(slot_bytes(wide.work(), false), slot_bytes(small.work(), false));
  EXPECT_GT(slot_bytes(large.work(), false), slot_bytes(small.work(), false));
  EXPECT_GT(worker_bytes(large.work(), {}, true), worker_bytes(small.work(), {}, true));
  EXPECT_GT(slot_bytes(small.work(), true), slot_bytes(small.work(), false));
  EXPECT_GT(worker_bytes(small.work(), {}, true), worker_bytes(small.work(), {}, false));
}

// gcn's first sums are made by the workers; gat needs every row.
TEST(Footprint, KnowsWhatTheModelsAreGiven) {
  const Question gcn = made_up_question({});
  const Question sage = made_up_question({.model = ModelKind::sage});
  const Question gat = made_up_question({.model = ModelKind::gat});
  EXPECT_GT(slot_bytes(sage.work(), false), slot_bytes(gcn.work(), false));
  EXPECT_GT(slot_bytes(gat.work(), false),
            gat.probe.largest.nodes * gat.store.columns * sizeof(float));
}

}  // namespace
}  // namespace plimsoll::plan
