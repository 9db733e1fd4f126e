#include "train/tensor_memory.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "base/units.h"
#include "memory/ledger.h"
#include "nn/model.h"
#include "temp_folder.h"

namespace plimsoll::train {
namespace {

at::Tensor bytes(uint64_t count) { return at::empty({static_cast<int64_t>(count)}, at::kByte); }

uint64_t tensor_bytes(const memory::Ledger& ledger) {
  for (const auto& usage : ledger.usage()) {
    if (usage.tag == "tensors") return usage.bytes;
  }
  return 0;
}

class InLeasedMemory : public testing::Test {
 protected:
  memory::Ledger ledger_{64 * kMiB};
  std::optional<TensorMemory> memory_{ledger_};
};

TEST_F(InLeasedMemory, LargeTensorsTakeALease) {
  const at::Tensor small = bytes(64 * 1024 - 1);
  EXPECT_EQ(tensor_bytes(ledger_), 0U);
  const at::Tensor large = bytes(64 * 1024);
  EXPECT_GE(tensor_bytes(ledger_), 64U * 1024);
  EXPECT_LE(tensor_bytes(ledger_), 80U * 1024);
  const at::Tensor larger = bytes(5 * kMiB);
  EXPECT_GE(tensor_bytes(ledger_), 5 * kMiB + 64 * 1024);
  EXPECT_LE(tensor_bytes(ledger_), (5 * kMiB + 64 * 1024) * 9 / 8 + 16 * 1024);
}

// A lack of memory cannot interrupt a step: parameters and moments would not belong together.
TEST_F(InLeasedMemory, AdamStepsWithoutAnyMore) {
  at::Tensor parameters = at::full({100'000}, 1.0F);
  at::Tensor gradient = at::full({100'000}, 0.5F);
  nn::Adam adam(parameters);
  const uint64_t used = ledger_.used_bytes();
  ledger_.set_limit(used);
  ASSERT_ANY_THROW(parameters + 1);
  for (int step = 0; step < 3; ++step) {
    adam.step(parameters, gradient, 0.01, 0.001);
    gradient.fill_(0.5F);
  }
  EXPECT_EQ(ledger_.peak_bytes(), used);
  EXPECT_NEAR(parameters[0].item<float>(), 0.97F, 1e-4F);
}

TEST_F(InLeasedMemory, TensorsAreAlignedAndApart) {
  std::vector<at::Tensor> tensors;
  for (const uint64_t size : {1, 100, 5000, 65535, 65536, 70000, 70000, 300000}) {
    tensors.push_back(bytes(size));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensors.back().data_ptr()) % 64, 0U) << size;
    tensors.back().fill_(static_cast<int64_t>(tensors.size()));
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    EXPECT_TRUE(tensors[i].eq(static_cast<int64_t>(i + 1)).all().item<bool>()) << i;
  EXPECT_EQ(bytes(0).numel(), 0);
}

TEST_F(InLeasedMemory, TensorsOfAboutTheSameSizeShareIt) {
  { const at::Tensor first = bytes(kMiB + 100 * 1000); }
  const uint64_t used = ledger_.used_bytes();
  ASSERT_GT(used, kMiB);
  const void* place = nullptr;
  for (uint64_t i = 0; i < 100; ++i) {
    at::Tensor tensor = bytes(kMiB + 50 * 1000 + i * 500);
    tensor.fill_(1);
    if (place == nullptr) place = tensor.data_ptr();
    EXPECT_EQ(tensor.data_ptr(), place) << i;
    EXPECT_EQ(ledger_.used_bytes(), used) << i;
  }
}

TEST_F(InLeasedMemory, WhatIsKeptNeverAddsToThePeak) {
  {
    const at::Tensor one = bytes(8 * kMiB);
    const at::Tensor two = bytes(8 * kMiB);
  }
  const uint64_t most = ledger_.used_bytes();
  const at::Tensor of_another_size = bytes(3 * kMiB);
  EXPECT_LE(ledger_.peak_bytes(), most);
}

TEST_F(InLeasedMemory, TwoTensorsNeverShareWhileBothLive) {
  { const at::Tensor first = bytes(kMiB); }
  const at::Tensor a = at::full({static_cast<int64_t>(kMiB)}, 1, at::kByte);
  const at::Tensor b = at::full({static_cast<int64_t>(kMiB)}, 2, at::kByte);
  EXPECT_TRUE(a.eq(1).all().item<bool>());
  EXPECT_TRUE(b.eq(2).all().item<bool>());
}

TEST_F(InLeasedMemory, RefusalsAreErrorsAndDoNoHarm) {
  const at::Tensor kept = at::full({static_cast<int64_t>(8 * kMiB)}, 7, at::kByte);
  const uint64_t used = ledger_.used_bytes();
  expect_error(ErrorKind::memory, {"tensors", "64.0 MiB"}, [] { bytes(60 * kMiB); });
  EXPECT_EQ(ledger_.used_bytes(), used);
  EXPECT_TRUE(kept.eq(7).all().item<bool>());
  const at::Tensor later = at::full({static_cast<int64_t>(8 * kMiB)}, 9, at::kByte);
  EXPECT_TRUE(later.eq(9).all().item<bool>());
}

TEST_F(InLeasedMemory, WhatIsKeptForLaterMakesRoomForWhatIsAskedNow) {
  { const at::Tensor first = bytes(40 * kMiB); }
  ASSERT_GE(ledger_.used_bytes(), 40 * kMiB);
  const at::Tensor second = bytes(20 * kMiB), third = bytes(20 * kMiB);
  EXPECT_LT(ledger_.used_bytes(), 60 * kMiB);
}

TEST_F(InLeasedMemory, AllOfItGoesBackAtTheEnd) {
  { const at::Tensor freed = bytes(3 * kMiB); }
  const at::Tensor alive = bytes(2 * kMiB);
  memory_.reset();
  EXPECT_EQ(ledger_.used_bytes(), 0U);
}

TEST_F(InLeasedMemory, TensorsFreedByOtherThreadsComeBack) {
  { const at::Tensor first = bytes(kMiB), second = bytes(kMiB), third = bytes(kMiB); }
  const uint64_t used = ledger_.used_bytes();
  for (int round = 0; round < 100; ++round) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([tensor = at::full({static_cast<int64_t>(kMiB)}, i, at::kByte), i] {
        EXPECT_EQ(tensor.data_ptr<uint8_t>()[0], i);
        EXPECT_EQ(tensor.data_ptr<uint8_t>()[kMiB - 1], i);
      });
    }
  }
  EXPECT_EQ(ledger_.used_bytes(), used);
}

TEST(TensorMemory, LeavesTensorsThatOutliveItTheirValues) {
  std::vector<at::Tensor> tensors;
  {
    memory::Ledger ledger(64 * kMiB);
    const TensorMemory memory(ledger);
    tensors.push_back(at::full({static_cast<int64_t>(kMiB)}, 3, at::kByte));
    tensors.push_back(at::full({1000}, 4, at::kByte));
  }
  const at::Tensor without = at::full({static_cast<int64_t>(kMiB)}, 5, at::kByte);
  EXPECT_TRUE(tensors[0].eq(3).all().item<bool>());
  EXPECT_TRUE(tensors[1].eq(4).all().item<bool>());
  EXPECT_TRUE(without.eq(5).all().item<bool>());
}

// A tensor of an earlier life must not be handed out as the memory of a later one.
TEST(TensorMemory, MayFollowAnother) {
  at::Tensor old;
  {
    memory::Ledger ledger(64 * kMiB);
    const TensorMemory memory(ledger);
    old = bytes(kMiB);
  }
  memory::Ledger ledger(64 * kMiB);
  const TensorMemory memory(ledger);
  old.fill_(3);
  old.reset();
  EXPECT_EQ(tensor_bytes(ledger), 0U);
  const at::Tensor fresh = bytes(kMiB);
  EXPECT_GE(tensor_bytes(ledger), kMiB);
}

}  // namespace
}  // namespace plimsoll::train
