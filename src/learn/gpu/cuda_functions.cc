#include "gpu/cuda_functions.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace plimsoll::gpu::cuda {
namespace {

namespace fs = std::filesystem;

// An open library. Never closed: drivers leave threads and exit handlers behind.
class SharedLibrary {
 public:
  // The first of these names that can be opened: one that this process has loaded already, from one
  // of the folders, or where the system looks.
  SharedLibrary(const std::vector<std::string>& names, const std::vector<fs::path>& folders) {
    for (const std::string& name : names) {
      if (open(name, RTLD_NOLOAD)) return;
    }
    for (const fs::path& folder : folders) {
      for (const std::string& name : names) {
        std::error_code unreadable;
        if (fs::exists(folder / name, unreadable) && open((folder / name).string(), 0)) return;
      }
    }
    for (const std::string& name : names) {
      if (open(name, 0)) return;
      if (problem_.empty()) problem_ = ::dlerror();
    }
  }

  template <typename Function>
  void find(Function& function, const char* name) {
    if (handle_ == nullptr) return;
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    if (function == nullptr && problem_.empty()) problem_ = fmt::format("it has no {}", name);
  }
  // A function that older versions do not have; null there.
  template <typename Function>
  void find_newer(Function& function, const char* name) {
    if (handle_ != nullptr) function = reinterpret_cast<Function>(::dlsym(handle_, name));
  }
  std::string problem() const { return handle_ != nullptr && problem_.empty() ? "" : problem_; }

 private:
  bool open(const std::string& path, int flags) {
    handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
    if (handle_ != nullptr) problem_.clear();
    return handle_ != nullptr;
  }

  void* handle_ = nullptr;
  std::string problem_;
};

std::vector<fs::path>& first_folders() {
  static std::vector<fs::path> folders;
  return folders;
}

Opened<DriverFunctions> open_driver() {
  SharedLibrary library({"libcuda.so.1"}, {});
  Opened<DriverFunctions> opened;
  DriverFunctions& f = opened.functions;
  library.find(f.init, "cuInit");
  library.find(f.device_count, "cuDeviceGetCount");
  library.find(f.device_get, "cuDeviceGet");
  library.find(f.device_name, "cuDeviceGetName");
  library.find(f.device_total_memory, "cuDeviceTotalMem_v2");
  library.find(f.device_bus_id, "cuDeviceGetPCIBusId");
  library.find(f.device_attribute, "cuDeviceGetAttribute");
  library.find(f.retain_context, "cuDevicePrimaryCtxRetain");
  library.find(f.release_context, "cuDevicePrimaryCtxRelease_v2");
  library.find(f.set_context, "cuCtxSetCurrent");
  library.find(f.push_context, "cuCtxPushCurrent_v2");
  library.find(f.pop_context, "cuCtxPopCurrent_v2");
  library.find(f.wait_context, "cuCtxSynchronize");
  library.find_newer(f.record_context, "cuCtxRecordEvent");
  library.find(f.create_event, "cuEventCreate");
  library.find(f.query_event, "cuEventQuery");
  library.find(f.destroy_event, "cuEventDestroy_v2");
  library.find(f.memory_info, "cuMemGetInfo_v2");
  library.find(f.allocate, "cuMemAlloc_v2");
  library.find(f.release, "cuMemFree_v2");
  library.find(f.register_host, "cuMemHostRegister_v2");
  library.find(f.unregister_host, "cuMemHostUnregister");
  library.find(f.host_address, "cuMemHostGetDevicePointer_v2");
  library.find(f.upload, "cuMemcpyHtoDAsync_v2");
  library.find(f.download, "cuMemcpyDtoHAsync_v2");
  library.find(f.fill, "cuMemsetD8Async");
  library.find(f.create_stream, "cuStreamCreate");
  library.find(f.destroy_stream, "cuStreamDestroy_v2");
  library.find(f.wait_stream, "cuStreamSynchronize");
  library.find(f.begin_capture, "cuStreamBeginCapture_v2");
  library.find(f.end_capture, "cuStreamEndCapture");
  library.find(f.instantiate, "cuGraphInstantiateWithFlags");
  library.find(f.start_graph, "cuGraphLaunch");
  library.find(f.destroy_exec, "cuGraphExecDestroy");
  library.find(f.destroy_graph, "cuGraphDestroy");
  library.find(f.load_module, "cuModuleLoadData");
  library.find(f.unload_module, "cuModuleUnload");
  library.find(f.find_function, "cuModuleGetFunction");
  library.find(f.launch, "cuLaunchKernel");
  library.find(f.error_text, "cuGetErrorString");
  if (const std::string problem = library.problem(); !problem.empty()) {
    opened.missing = fmt::format("NVIDIA's driver is missing or too old ({})", problem);
  }
  return opened;
}

Opened<ManagementFunctions> open_management() {
  SharedLibrary library({"libnvidia-ml.so.1"}, {});
  Opened<ManagementFunctions> opened;
  ManagementFunctions& f = opened.functions;
  library.find(f.init, "nvmlInit_v2");
  library.find(f.device_at, "nvmlDeviceGetHandleByPciBusId_v2");
  library.find(f.memory, "nvmlDeviceGetMemoryInfo");
  opened.missing = library.problem();
  if (opened.missing.empty() && f.init() != 0) opened.missing = "NVML does not start";
  return opened;
}

Opened<CompilerFunctions> open_compiler(const std::vector<fs::path>& folders) {
  SharedLibrary library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"},
                        folders);
  Opened<CompilerFunctions> opened;
  CompilerFunctions& f = opened.functions;
  library.find(f.version, "nvrtcVersion");
  library.find(f.create, "nvrtcCreateProgram");
  library.find(f.compile, "nvrtcCompileProgram");
  library.find(f.binary_size, "nvrtcGetCUBINSize");
  library.find(f.binary, "nvrtcGetCUBIN");
  library.find(f.log_size, "nvrtcGetProgramLogSize");
  library.find(f.log, "nvrtcGetProgramLog");
  library.find(f.destroy, "nvrtcDestroyProgram");
  if (const std::string problem = library.problem(); !problem.empty()) {
    opened.missing = fmt::format("NVIDIA's compiler NVRTC is missing ({})", problem);
  }
  return opened;
}

Opened<BlasFunctions> open_blas(const std::vector<fs::path>& folders) {
  SharedLibrary library({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"},
                        folders);
  Opened<BlasFunctions> opened;
  BlasFunctions& f = opened.functions;
  library.find(f.create, "cublasCreate_v2");
  library.find(f.destroy, "cublasDestroy_v2");
  library.find(f.set_stream, "cublasSetStream_v2");
  library.find(f.set_workspace, "cublasSetWorkspace_v2");
  library.find(f.set_math, "cublasSetMathMode");
  library.find(f.multiply, "cublasSgemm_v2");
  if (const std::string problem = library.problem(); !problem.empty()) {
    opened.missing = fmt::format("NVIDIA's cuBLAS is missing ({})", problem);
  }
  return opened;
}

}  // namespace

const Opened<DriverFunctions>& driver() {
  static const Opened<DriverFunctions> opened = open_driver();
  return opened;
}

const Opened<ManagementFunctions>& management() {
  static const Opened<ManagementFunctions> opened = open_management();
  return opened;
}

const Opened<CompilerFunctions>& compiler() {
  static const Opened<CompilerFunctions> opened = open_compiler(first_folders());
  return opened;
}

const Opened<BlasFunctions>& blas() {
  static const Opened<BlasFunctions> opened = open_blas(first_folders());
  return opened;
}

std::string error_message(const DriverFunctions& driver, int result) {
  const char* text = nullptr;
  if (driver.error_text(result, &text) != 0 || text == nullptr) {
    return fmt::format("error {}", result);
  }
  return text;
}

void look_first_in(std::vector<fs::path> folders) { first_folders() = std::move(folders); }

std::vector<fs::path> cuda_folders(const fs::path& torch_folder) {
  std::vector<fs::path> folders = {torch_folder};
  // .../site-packages/torch/lib and .../site-packages/nvidia/cu13/lib
  const fs::path packages = torch_folder.parent_path().parent_path() / "nvidia";
  for (const char* part : {"cu13", "cu12", "cuda_nvrtc", "cublas"}) {
    folders.push_back(packages / part / "lib");
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  return folders;
}

}  // namespace plimsoll::gpu::cuda
