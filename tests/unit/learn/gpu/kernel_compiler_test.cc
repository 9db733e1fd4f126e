// NVRTC needs no GPU, so where it is installed the GPU's code is compiled for several of them.
#include "gpu/kernel_compiler.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/host.h"
#include "gpu/cuda_functions.h"
#include "temp_folder.h"

namespace plimsoll::gpu {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

TEST(KernelCompiler, TheTextHasEveryKindOfWorkOfTheNetwork) {
  const std::string source = kernel_source({.major = 9, .fanouts = {15, 10}});
  for (const char* name :
       {"begin_part",    "take_seeds",   "draw_hop_15",      "draw_hop_10",     "sum_rows_15",
        "sum_rows_10",   "activate",     "sum_tree",         "add_bias",        "seed_losses",
        "loss_gradient", "add_rows",     "add_partial_sums", "spread_gradient", "end_part",
        "end_batch",     "adam_step",    "score_sources",    "weigh_sources",   "sum_sources",
        "grade_weights", "grade_scores", "grade_sources"}) {
    EXPECT_NE(source.find(std::string("__global__ void ") + name + "("), std::string::npos) << name;
  }
}

// The paths that the documentation names.
TEST(KernelCompiler, KeepsKernelsInPlimsollsFolderOfTheUsersCaches) {
  const auto folder_with = [](const std::map<std::string, std::string>& variables) {
    const Host host = {.variable = [&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return {};
      return found->second;
    }};
    return kernel_cache_folder(host).string();
  };
  EXPECT_EQ(folder_with({{"HOME", "/home/ada"}}), "/home/ada/.cache/plimsoll/kernels");
  EXPECT_EQ(folder_with({{"HOME", "/home/ada"}, {"XDG_CACHE_HOME", "/caches"}}),
            "/caches/plimsoll/kernels");
  EXPECT_EQ(folder_with({}), "");
}

TEST(KernelCache, KeepsWhatItIsGiven) {
  const TempFolder folder;
  const KernelCache cache(folder / "kernels");
  EXPECT_EQ(cache.read("one"), "");
  for (const std::string& binary : {std::string(1, '\0'), std::string("\n\n"), "code"s, ""s}) {
    cache.keep("one", binary);
    EXPECT_EQ(cache.read("one"), binary);
  }
  cache.keep("one", "code");
  cache.forget("one");
  EXPECT_EQ(cache.read("one"), "");
  const KernelCache none("");
  none.keep("one", "code");
  EXPECT_EQ(none.read("one"), "");
}

TEST(KernelCache, RemovesADamagedFile) {
  const TempFolder folder;
  const KernelCache cache(folder.path());
  std::string binary;
  for (int i = 0; i < 5000; ++i) binary += static_cast<char>(i * 7);
  cache.keep("code", binary);
  const std::string kept = read_file(folder / "code");
  std::string flipped = kept;
  flipped[1000] ^= 1;
  for (const std::string& damaged :
       {""s, kept.substr(0, 8), kept.substr(0, kept.size() / 2), flipped,
        kept.substr(0, kept.size() - 1), kept + "x", binary, std::string(kept.size(), '\0')}) {
    write_file(folder / "code", damaged);
    EXPECT_EQ(cache.read("code"), "") << damaged.size();
    EXPECT_FALSE(std::filesystem::exists(folder / "code")) << damaged.size();
  }
  cache.keep("code", binary);
  EXPECT_EQ(cache.read("code"), binary);
}

TEST(KernelCompiler, CompilesForTwoGenerationsAndKeepsTheResult) {
  cuda::look_first_in(cuda::cuda_folders("/nowhere"));
  const auto& compiler = cuda::compiler();
  if (!compiler.missing.empty()) GTEST_SKIP() << compiler.missing;
  const TempFolder folder;
  for (const auto& [major, minor] : {std::pair{8, 0}, {8, 6}}) {
    const KernelRequest request = {.major = major, .minor = minor, .fanouts = {15, 10}};
    const KernelCache cache(folder.path());
    const std::string binary = compiled_kernels(request, cache);
    EXPECT_EQ(binary.substr(1, 3), "ELF") << major;
    EXPECT_EQ(compiled_kernels(request, cache), binary);
    EXPECT_EQ(recompiled_kernels(request, cache), binary);
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
