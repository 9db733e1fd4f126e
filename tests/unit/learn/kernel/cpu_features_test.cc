// Which kernels a CPU gets, by its features alone.
#include "kernel/cpu_features.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plimsoll::kernel {
namespace {

std::vector<uint32_t> features_of(uint32_t set) {
  std::vector<uint32_t> features;
  for (uint32_t feature = 1; feature <= kEveryFeature; feature <<= 1) {
    if ((set & feature) != 0) features.push_back(feature);
  }
  return features;
}

// Where the compiler makes code for x86; elsewhere there are only the plain kernels.
std::vector<const Build*> vector_builds() {
  std::vector<const Build*> builds;
  for (const Build* build : {&kAvx2Build, &kAvx512Build}) {
    if (build->kernels.name != nullptr) builds.push_back(build);
  }
  return builds;
}

TEST(CpuFeatures, AreAllNeededThatAFileIsCompiledWith) {
  if (vector_builds().empty()) GTEST_SKIP() << "no kernels but the plain ones on this machine";
  EXPECT_EQ(kAvx2Build.needs & (kAvx | kAvx2 | kF16c), kAvx | kAvx2 | kF16c);
  constexpr uint32_t kWide = kAvx2 | kAvx512f | kAvx512bw | kAvx512vl;
  EXPECT_EQ(kAvx512Build.needs & kWide, kWide);
}

TEST(CpuFeatures, WithoutOneOfThoseNeededTheKernelsAreNotRun) {
  for (const Build* build : vector_builds()) {
    SCOPED_TRACE(build->kernels.name);
    EXPECT_EQ(runnable(*build, build->needs), &build->kernels);
    EXPECT_EQ(runnable(*build, kEveryFeature), &build->kernels);
    EXPECT_EQ(runnable(*build, 0), nullptr);
    for (const uint32_t missing : features_of(build->needs)) {
      EXPECT_EQ(runnable(*build, kEveryFeature & ~missing), nullptr) << missing;
      EXPECT_NE(&best_of(kEveryFeature & ~missing), &build->kernels) << missing;
    }
  }
}

TEST(CpuFeatures, WithoutThoseOfAvx512TheNextBestIsRun) {
  if (vector_builds().size() < 2) GTEST_SKIP() << "no kernels but the plain ones on this machine";
  EXPECT_EQ(&best_of(kEveryFeature), &kAvx512Build.kernels);
  for (const uint32_t missing : {kAvx512f, kAvx512bw, kAvx512vl}) {
    EXPECT_EQ(&best_of(kEveryFeature & ~missing), &kAvx2Build.kernels) << missing;
  }
  for (const uint32_t missing : {kAvx2, kAvx}) {
    EXPECT_EQ(&best_of(kEveryFeature & ~missing), &kPlainBuild.kernels) << missing;
  }
  constexpr uint32_t kSandyBridge = kSse3 | kSsse3 | kSse41 | kSse42 | kPopcnt | kAvx;
  EXPECT_EQ(&best_of(kSandyBridge), &kPlainBuild.kernels);
  EXPECT_EQ(&best_of(kSandyBridge | kAvx2), &kPlainBuild.kernels) << "AVX2 without F16C";
}

TEST(CpuFeatures, OfThisCpuRunThePlainKernels) {
  EXPECT_EQ(kPlainBuild.needs & ~cpu_features(), 0U);
  EXPECT_EQ(&best(), &best_of(cpu_features()));
}

}  // namespace
}  // namespace plimsoll::kernel
