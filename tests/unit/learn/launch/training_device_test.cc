#include "launch/training_device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "base/units.h"
#include "launch/planning.h"
#include "temp_folder.h"

namespace plimsoll::launch {
namespace {

using train::DeviceKind;

const GpuFacts kUsable = {.built_with_cuda = true, .usable = "NVIDIA H200"};
const TrainingDevice kCpu;
const TrainingDevice kGpu = {true, "NVIDIA H200"};

#ifndef PLIMSOLL_TORCH_CUDA
TEST(GpuFacts, HaveNoGpuInABuildWithoutCuda) {
  bool asked = false;
  const GpuFacts facts = gpu_facts([&] {
    asked = true;
    return std::string("NVIDIA H200");
  });
  EXPECT_FALSE(facts.built_with_cuda);
  EXPECT_EQ(facts.usable, "");
  EXPECT_FALSE(asked);
}
#endif

TEST(TrainingDevice, IsAGpuOnlyWhereTheBuildAndTheDriverHaveOne) {
  EXPECT_EQ(training_device(DeviceKind::automatic, kUsable), kGpu);
  EXPECT_EQ(training_device(DeviceKind::cuda, kUsable), kGpu);
  EXPECT_EQ(training_device(DeviceKind::cpu, kUsable), kCpu);
  EXPECT_EQ(training_device(DeviceKind::automatic, {false, "NVIDIA H200"}), kCpu);
  EXPECT_EQ(training_device(DeviceKind::automatic, {true, ""}), kCpu);
  EXPECT_EQ(training_device(DeviceKind::cpu, {false, ""}), kCpu);
}

TEST(TrainingDevice, IsRefusedWhereCudaIsAskedForInVain) {
  expect_error(ErrorKind::usage, {"--device cuda", "built with a libtorch that has no CUDA"}, [] {
    training_device(DeviceKind::cuda, {false, "NVIDIA H200"});
  });
  expect_error(ErrorKind::usage, {"--device cuda", "CUDA_VISIBLE_DEVICES"}, [] {
    training_device(DeviceKind::cuda, {true, ""});
  });
  expect_error(ErrorKind::usage, {"--device cuda", "torch finds no usable GPU", "NVIDIA H200"},
               [] { settled_device(DeviceKind::cuda, false, kGpu); });
}

// Sets CUDA_VISIBLE_DEVICES, and restores it.
class VisibleGpus {
 public:
  explicit VisibleGpus(const char* value) {
    value == nullptr ? ::unsetenv(kName) : ::setenv(kName, value, 1);
  }
  VisibleGpus(const VisibleGpus&) = delete;
  VisibleGpus& operator=(const VisibleGpus&) = delete;
  ~VisibleGpus() { before_ ? ::setenv(kName, before_->c_str(), 1) : ::unsetenv(kName); }

  static std::string now() { return std::getenv(kName) == nullptr ? "" : std::getenv(kName); }

 private:
  static constexpr const char* kName = "CUDA_VISIBLE_DEVICES";
  std::optional<std::string> before_ =
      std::getenv(kName) == nullptr ? std::nullopt : std::optional<std::string>(std::getenv(kName));
};

TEST(ChosenGpu, IsCountedAmongThoseThatTheProcessMayUse) {
  {
    const VisibleGpus all(nullptr);
    choose_gpu({});
    EXPECT_EQ(VisibleGpus::now(), "");
    check_gpu(1);
    EXPECT_EQ(VisibleGpus::now(), "");
    choose_gpu(1);
    EXPECT_EQ(VisibleGpus::now(), "1");
  }
  const VisibleGpus some("2,GPU-8932f937");
  expect_error(ErrorKind::usage, {"--device cuda:2", "=2,GPU-8932f937 shows fewer GPUs"},
               [] { check_gpu(2); });
  choose_gpu(1);
  EXPECT_EQ(VisibleGpus::now(), "GPU-8932f937");
  expect_error(ErrorKind::usage, {"--device cuda:1", "shows fewer GPUs"}, [] { choose_gpu(1); });
}

TEST(TrainingDevice, IsWhatTorchSaysOnceItCanBeAsked) {
  EXPECT_EQ(settled_device(DeviceKind::automatic, true, kGpu), kGpu);
  EXPECT_EQ(settled_device(DeviceKind::automatic, false, kGpu), kCpu);
  EXPECT_TRUE(settled_device(DeviceKind::automatic, true, kCpu).gpu);
  EXPECT_EQ(settled_device(DeviceKind::cpu, true, kCpu), kCpu);
}

TEST(GpuShare, IsNeverMoreThanTheGpuHas) {
  const TrainingDevice gpu = {.gpu = true, .name = "GPU", .memory_bytes = 8 * kGiB};
  EXPECT_EQ(gpu_share(gpu, 6 * kGiB).bytes, 6 * kGiB);
  EXPECT_EQ(gpu_share(gpu, 6 * kGiB).note, "");
  EXPECT_EQ(gpu_share(gpu, 100 * kGiB).bytes, 8 * kGiB);
  EXPECT_EQ(gpu_share(gpu, 100 * kGiB).note,
            "--gpu-memory 100.0 GiB is more than the GPU has; the limit is 8.0 GiB");
  EXPECT_EQ(gpu_share({.gpu = true, .name = "GPU"}, 100 * kGiB).bytes, 100 * kGiB);
  TrainingDevice emulated = gpu;
  emulated.emulated = true;
  EXPECT_EQ(gpu_share(emulated, 100 * kGiB).bytes, 100 * kGiB);
  EXPECT_EQ(gpu_share({}, 100 * kGiB).bytes, 0U);
}

TEST(GpuShare, IsWhatOtherProgramsLeaveIfThatIsLess) {
  TrainingDevice gpu = {.gpu = true, .name = "GPU", .memory_bytes = 100 * kGiB};
  EXPECT_EQ(gpu_share(gpu, {}).bytes, 92 * kGiB);
  gpu.free_bytes = 99 * kGiB;
  EXPECT_EQ(gpu_share(gpu, {}).bytes, 92 * kGiB);
  EXPECT_EQ(gpu_share(gpu, {}).note, "");
  gpu.free_bytes = 40 * kGiB;
  EXPECT_EQ(gpu_share(gpu, {}).bytes, 40 * kGiB);
  EXPECT_EQ(gpu_share(gpu, {}).note,
            "other programs leave 40.0 GiB of the GPU's 100.0 GiB free; the limit is that much");
  // The user knows better: what is free is asked again when the memory is taken.
  EXPECT_EQ(gpu_share(gpu, 60 * kGiB).bytes, 60 * kGiB);
}

}  // namespace
}  // namespace plimsoll::launch
