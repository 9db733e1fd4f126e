#include "train/step_rates.h"

#include <gtest/gtest.h>

#include "train/small_run.h"

namespace plimsoll::train {
namespace {

TEST(MeasureSteps, KnowsEveryRateOfACpu) {
  const plan::StepRates rates = measure_steps(kCpu, 1);
  EXPECT_TRUE(rates.known());
  EXPECT_EQ(rates.device, "cpu");
  EXPECT_EQ(rates.threads, 1U);
  for (const double rate : {rates.narrow_flops, rates.wide_flops, rates.activations, rates.sums,
                            rates.attention, rates.losses, rates.parameters}) {
    EXPECT_GT(rate, 1e3);
  }
  EXPECT_EQ(rates.copied_bytes, 0);
  for (const ModelKind kind : {ModelKind::gcn, ModelKind::sage, ModelKind::gat, ModelKind::mlp}) {
    EXPECT_GT(rates.of(kind).base + rates.of(kind).layer, 0);
    EXPECT_GE(rates.of(kind).layer, 0);
  }
}

}  // namespace
}  // namespace plimsoll::train
