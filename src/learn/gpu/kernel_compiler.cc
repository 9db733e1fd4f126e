#include "gpu/kernel_compiler.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text_file.h"
#include "gpu/cuda_functions.h"
#include "gpu/device_text.h"
#include "io/file.h"
#include "io/partial_file.h"

namespace plimsoll::gpu {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBinaryBytes = uint64_t{64} << 20;

// The work of device_code.h and its tasks.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kPlain = {{
    {"order_seeds", "OrderSeeds"},
    {"begin_part", "BeginPart"},
    {"end_part", "EndPart"},
    {"end_batch", "EndBatch"},
    {"take_seeds", "TakeSeeds"},
    {"activate", "Activate"},
    {"sum_tree", "SumTree"},
    {"spread_gradient", "SpreadGradient"},
    {"read_logits", "ReadLogits"},
    {"add_up_logits", "AddUpLogits"},
    {"turn_logits", "TurnLogits"},
    {"add_rows", "AddRows"},
    {"add_parts", "AddParts"},
    {"adam_step", "AdamStep"},
}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kDrawing = {{
    {"mark_rows", "MarkRows"},
    {"draw_hop", "DrawHop"},
    {"sum_rows", "SumRows"},
}};

std::string kernel(std::string_view name, std::string_view task, std::string_view version) {
  return fmt::format(
      "extern \"C\" __global__ void {}(const plimsoll::gpu::{} task) {{\n"
      "  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (thread < task.threads) plimsoll::gpu::run_thread{}(task, thread);\n}}\n",
      name, task, version);
}

std::string log_of(const cuda::CompilerFunctions& nvrtc, cuda::Program program) {
  size_t bytes = 0;
  nvrtc.log_size(program, &bytes);
  std::string log(bytes, '\0');
  if (bytes > 0) nvrtc.log(program, log.data());
  return log.c_str();  // without the closing zeros
}

std::string compile(const KernelRequest& request, const std::string& source) {
  const auto& opened = cuda::compiler();
  if (!opened.missing.empty()) fail(ErrorKind::usage, "{}", opened.missing);
  const cuda::CompilerFunctions& nvrtc = opened.functions;
  cuda::Program program = nullptr;
  if (nvrtc.create(&program, source.c_str(), "device_code.h", 0, nullptr, nullptr) != 0) {
    fail(ErrorKind::internal, "NVRTC does not take the GPU's code");
  }
  const std::string architecture =
      fmt::format("--gpu-architecture=sm_{}{}", request.major, request.minor);
  // Without fused multiply-add: sums then have the same bits as on a CPU.
  const std::array<const char*, 3> options = {architecture.c_str(), "--std=c++17", "--fmad=false"};
  const int result = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
  std::string binary;
  size_t bytes = 0;
  if (result == 0 && nvrtc.binary_size(program, &bytes) == 0) {
    binary.resize(bytes);
    nvrtc.binary(program, binary.data());
  }
  const std::string log = log_of(nvrtc, program);
  nvrtc.destroy(&program);
  if (binary.empty()) {
    fail(ErrorKind::internal, "NVRTC cannot compile for compute capability {}.{}: {}",
         request.major, request.minor, log);
  }
  return binary;
}

}  // namespace

std::string kernel_source(const KernelRequest& request) {
  std::string source = kDeviceText;
  for (const auto& [name, task] : kPlain) source += kernel(name, task, "");
  for (const uint32_t fanout : request.fanouts) {
    for (const auto& [name, task] : kDrawing) {
      source += kernel(fmt::format("{}_{}", name, fanout), task, fmt::format("<{}>", fanout));
    }
  }
  return source;
}

fs::path kernel_cache_folder(const Host& host) {
  const fs::path folder = user_folder(host, "XDG_CACHE_HOME", ".cache");
  return folder.empty() ? folder : folder / "plimsoll" / "kernels";
}

std::string compiled_kernels(const KernelRequest& request, const fs::path& cache_folder) {
  const std::string source = kernel_source(request);
  int major = 0;
  int minor = 0;
  if (cuda::compiler().missing.empty()) cuda::compiler().functions.version(&major, &minor);
  io::Checksum checksum;
  checksum.update(std::as_bytes(std::span<const char>(source)));
  const fs::path file = cache_folder / fmt::format("{}-sm{}{}-nvrtc{}.{}.cubin", checksum.hex(),
                                                   request.major, request.minor, major, minor);
  if (!cache_folder.empty()) {
    std::error_code unreadable;
    if (fs::exists(file, unreadable)) {
      try {
        std::string binary = read_small_file(file, kMostBinaryBytes);
        if (!binary.empty()) return binary;
      } catch (const Error&) {
        // compiled again below
      }
    }
  }
  std::string binary = compile(request, source);
  if (!cache_folder.empty()) {
    try {
      fs::create_directories(cache_folder);
      io::write_whole(file, binary);
    } catch (const std::exception&) {
      // the next run compiles again
    }
  }
  return binary;
}

}  // namespace plimsoll::gpu
