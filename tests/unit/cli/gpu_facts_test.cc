#include "cli/gpu_facts.h"

#include <gtest/gtest.h>

namespace plimsoll::cli {
namespace {

#ifndef PLIMSOLL_TORCH_CUDA
TEST(GpuFacts, HaveNoGpuInABuildWithoutCuda) {
  EXPECT_FALSE(gpu_facts().built_with_cuda);
  EXPECT_EQ(gpu_facts().usable, "");
}
#endif

}  // namespace
}  // namespace plimsoll::cli
