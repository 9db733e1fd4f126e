// NVRTC needs no GPU, so where it is installed the GPU's code is compiled for several of them.
#include "gpu/kernel_compiler.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "gpu/cuda_functions.h"
#include "temp_folder.h"

namespace plimsoll::gpu {
namespace {

TEST(KernelCompiler, TheTextHasEveryKindOfWorkOfTheNetwork) {
  const std::string source = kernel_source({.major = 9, .fanouts = {15, 10}});
  for (const char* name :
       {"begin_part", "take_seeds", "draw_hop_15", "draw_hop_10", "sum_rows_15", "sum_rows_10",
        "activate", "sum_tree", "read_logits", "add_up_logits", "turn_logits", "add_rows",
        "add_parts", "spread_gradient", "end_part", "end_batch", "adam_step"}) {
    EXPECT_NE(source.find(std::string("__global__ void ") + name + "("), std::string::npos) << name;
  }
}

TEST(KernelCompiler, CompilesForTwoGenerationsAndKeepsTheResult) {
  cuda::look_first_in(cuda::cuda_folders("/nowhere"));
  const auto& compiler = cuda::compiler();
  if (!compiler.missing.empty()) GTEST_SKIP() << compiler.missing;
  const TempFolder folder;
  for (const auto& [major, minor] : {std::pair{8, 0}, {8, 6}}) {
    const KernelRequest request = {.major = major, .minor = minor, .fanouts = {15, 10}};
    const std::string binary = compiled_kernels(request, folder.path());
    EXPECT_EQ(binary.substr(1, 3), "ELF") << major;
    EXPECT_EQ(compiled_kernels(request, folder.path()), binary);
  }
  uint64_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_EQ(entry.path().extension(), ".cubin");
    ++files;
  }
  EXPECT_EQ(files, 2);
}

}  // namespace
}  // namespace plimsoll::gpu
