#include <gtest/gtest.h>

#include "made_up_store.h"
#include "nn/footprint.h"

namespace plimsoll::plan {
namespace {

using recipe::ModelKind;

double activation_mib(const recipe::Recipe& recipe, const BatchSize& batch, uint64_t classes) {
  Question question = made_up_question(recipe, 200'000);
  question.store.classes = classes;
  question.probe.largest = batch;
  return static_cast<double>(activation_bytes(question.work())) / kMiB;
}

// Torch's tensors took 62 and 59 MiB at the end of a training, where they are kept for the next
// batch.
TEST(Activations, AreALittleMoreThanWasMeasured) {
  const recipe::Recipe gat = {.model = ModelKind::gat, .hidden = 32, .heads = 4};
  const BatchSize hub = {500, 200'000, {{500, 2'000}, {2'300, 207'000}}};
  EXPECT_NEAR(activation_mib(gat, hub, 5), 64, 4);
  const recipe::Recipe sage = {.model = ModelKind::sage, .hidden = 32};
  const BatchSize large = {100'000, 170'000, {{100'000, 400'000}, {150'000, 600'000}}};
  EXPECT_NEAR(activation_mib(sage, large, 8), 61, 4);
}

TEST(Activations, GrowWithWhatTheyAreMadeOf) {
  const BatchSize small = {100, 4'000, {{100, 1'000}, {900, 5'000}}};
  const BatchSize large = {200, 8'000, {{200, 2'000}, {1'800, 10'000}}};
  for (const ModelKind model : {ModelKind::gcn, ModelKind::sage, ModelKind::gat, ModelKind::mlp}) {
    const recipe::Recipe narrow = {.model = model, .hidden = 64};
    recipe::Recipe wide = narrow;
    wide.hidden = 128;
    recipe::Recipe normed = narrow;
    normed.batch_norm = true;
    const double least = activation_mib(narrow, small, 10);
    EXPECT_GT(least, 0);
    EXPECT_GT(activation_mib(wide, small, 10), least);
    EXPECT_GE(activation_mib(normed, small, 10), least);
    EXPECT_GT(activation_mib(narrow, large, 10), least);
    EXPECT_GE(activation_mib(narrow, small, 100), least);
  }
}

}  // namespace
}  // namespace plimsoll::plan
