#include "gpu/kernel_compiler.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/text_file.h"
#include "gpu/cuda_functions.h"
#include "gpu/device_attention.h"
#include "gpu/device_text.h"
#include "io/file.h"
#include "io/partial_file.h"

namespace plimsoll::gpu {
namespace {

namespace fs = std::filesystem;
using io::checksum_of;

constexpr uint64_t kMostBinaryBytes = uint64_t{64} << 20;

// Without fused multiply-add: sums then have the same bits as on a CPU.
constexpr std::array<const char*, 2> kOptions = {"--std=c++17", "--fmad=false"};

// The name has everything that the machine code depends on.
std::string file_name(const KernelRequest& request, const std::string& source) {
  int major = 0;
  int minor = 0;
  if (cuda::compiler().missing.empty()) cuda::compiler().functions.version(&major, &minor);
  std::string text = source;
  for (const char* const option : kOptions) text += option;
  return fmt::format("{}-sm{}{}-nvrtc{}.{}.cubin", checksum_of(text), request.major, request.minor,
                     major, minor);
}

// A task: the name of its kernel, and its type as the device code has it.
struct TaskType {
  std::string_view kernel;
  std::string_view type;
};
#define PLIMSOLL_TASK(Type) \
  TaskType { Type::kName, #Type }
// The tasks whose run_thread() has no template parameter.
constexpr std::array kPlain = {
    PLIMSOLL_TASK(OrderSeeds),     PLIMSOLL_TASK(BeginPart),      PLIMSOLL_TASK(EndPart),
    PLIMSOLL_TASK(EndBatch),       PLIMSOLL_TASK(TakeSeeds),      PLIMSOLL_TASK(Activate),
    PLIMSOLL_TASK(SumTree),        PLIMSOLL_TASK(SpreadGradient), PLIMSOLL_TASK(AddBias),
    PLIMSOLL_TASK(SeedLosses),     PLIMSOLL_TASK(LossGradient),   PLIMSOLL_TASK(AddRows),
    PLIMSOLL_TASK(AddPartialSums), PLIMSOLL_TASK(AdamStep),       PLIMSOLL_TASK(ScoreSources),
    PLIMSOLL_TASK(WeighSources),   PLIMSOLL_TASK(SumSources),     PLIMSOLL_TASK(GradeWeights),
    PLIMSOLL_TASK(GradeScores),    PLIMSOLL_TASK(GradeSources),
};
// Those with run_thread<kFanout>().
constexpr std::array kDrawing = {
    PLIMSOLL_TASK(MarkRows),
    PLIMSOLL_TASK(DrawHop),
    PLIMSOLL_TASK(SumRows),
};
#undef PLIMSOLL_TASK

std::string kernel(std::string_view name, std::string_view type, std::string_view version) {
  return fmt::format(
      "extern \"C\" __global__ void {}(const plimsoll::gpu::{} task) {{\n"
      "  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (thread < task.threads) plimsoll::gpu::run_thread{}(task, thread);\n}}\n",
      name, type, version);
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
  if (nvrtc.create(&program, source.c_str(), "device_code", 0, nullptr, nullptr) != 0) {
    fail(ErrorKind::internal, "NVRTC does not take the GPU's code");
  }
  const std::string architecture =
      fmt::format("--gpu-architecture=sm_{}{}", request.major, request.minor);
  const std::array<const char*, 3> options = {architecture.c_str(), kOptions[0], kOptions[1]};
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
  for (const auto& [name, type] : kPlain) source += kernel(name, type, "");
  for (const uint32_t fanout : request.fanouts) {
    for (const auto& [name, type] : kDrawing) {
      source += kernel(fmt::format("{}_{}", name, fanout), type, fmt::format("<{}>", fanout));
    }
  }
  return source;
}

fs::path kernel_cache_folder(const Host& host) {
  const fs::path folder = user_folder(host, "XDG_CACHE_HOME", ".cache");
  return folder.empty() ? folder : folder / "kernels";
}

// A file begins with a line that has the checksum of the rest: the driver is given no length, and
// would read on behind code that is cut off.
std::string KernelCache::read(const std::string& name) const {
  std::error_code unreadable;
  if (folder_.empty() || !fs::exists(folder_ / name, unreadable)) return "";
  try {
    const std::string text = read_small_file(folder_ / name, kMostBinaryBytes);
    const size_t line = text.find('\n');
    if (line != std::string::npos && line + 1 < text.size() &&
        checksum_of(std::string_view(text).substr(line + 1)) == text.substr(0, line)) {
      return text.substr(line + 1);
    }
  } catch (const Error&) {
    // as if it were damaged
  }
  forget(name);
  return "";
}

void KernelCache::keep(const std::string& name, const std::string& binary) const {
  if (folder_.empty()) return;
  try {
    fs::create_directories(folder_);
    io::write_whole(folder_ / name, checksum_of(binary) + "\n" + binary);
  } catch (const std::exception&) {
    // the next run compiles again
  }
}

void KernelCache::forget(const std::string& name) const {
  std::error_code unwritable;
  fs::remove(folder_ / name, unwritable);
}

std::string compiled_kernels(const KernelRequest& request, const KernelCache& cache) {
  const std::string source = kernel_source(request);
  const std::string name = file_name(request, source);
  std::string binary = cache.read(name);
  if (!binary.empty()) return binary;
  binary = compile(request, source);
  cache.keep(name, binary);
  return binary;
}

std::string recompiled_kernels(const KernelRequest& request, const KernelCache& cache) {
  cache.forget(file_name(request, kernel_source(request)));
  return compiled_kernels(request, cache);
}

}  // namespace plimsoll::gpu
