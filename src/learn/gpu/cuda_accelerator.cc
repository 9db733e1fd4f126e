#include "gpu/cuda_accelerator.h"

#include <fmt/format.h>

#include <array>
#include <bit>

#include "base/error.h"
#include "base/units.h"
#include "gpu/kernel_compiler.h"

namespace plimsoll::gpu {
namespace {

constexpr unsigned kBlockThreads = 128;

// The functions of a library that must be there.
template <typename Functions>
const Functions& needed(const cuda::Opened<Functions>& opened) {
  if (!opened.missing.empty()) fail(ErrorKind::usage, "{}", opened.missing);
  return opened.functions;
}

cuda::DeviceAddress address_of(const void* data) {
  return std::bit_cast<cuda::DeviceAddress>(data);
}

int device_of(const cuda::DriverFunctions& driver, int ordinal) {
  int device = 0;
  const int result = driver.device_get(&device, ordinal);
  if (result != 0) {
    fail(ErrorKind::usage, "there is no GPU {}: {}", ordinal, cuda::error_message(driver, result));
  }
  return device;
}

std::string name_of(const cuda::DriverFunctions& driver, int device) {
  std::array<char, 256> name = {};
  driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device);
  return name.data();
}

// NVML counts GPUs in another order than CUDA, so the GPU is found by its place on the bus.
std::optional<uint64_t> free_bytes_of(const cuda::DriverFunctions& driver, int device) {
  const auto& nvml = cuda::management();
  if (!nvml.missing.empty()) return {};
  std::array<char, 64> bus_id = {};
  cuda::Management handle = nullptr;
  cuda::ManagementFunctions::Memory memory = {};
  if (driver.device_bus_id(bus_id.data(), static_cast<int>(bus_id.size()) - 1, device) != 0 ||
      nvml.functions.device_at(bus_id.data(), &handle) != 0 ||
      nvml.functions.memory(handle, &memory) != 0) {
    return {};
  }
  return memory.free_bytes;
}

}  // namespace

GpuSize size_of_gpu(int ordinal) {
  const auto& opened = cuda::driver();
  if (!opened.missing.empty()) return {.missing = opened.missing};
  const cuda::DriverFunctions& driver = opened.functions;
  if (const int result = driver.init(0); result != 0) {
    return {.missing = cuda::error_message(driver, result)};
  }
  int device = 0;
  size_t bytes = 0;
  if (driver.device_get(&device, ordinal) != 0 || driver.device_total_memory(&bytes, device) != 0) {
    return {.missing = fmt::format("there is no GPU {}", ordinal)};
  }
  return {.name = name_of(driver, device),
          .total_bytes = bytes,
          .free_bytes = free_bytes_of(driver, device)};
}

std::string device_code_problem(int ordinal, const std::set<uint32_t>& fanouts) {
  for (const std::string& missing :
       {cuda::driver().missing, cuda::compiler().missing, cuda::blas().missing}) {
    if (!missing.empty()) return missing;
  }
  const cuda::DriverFunctions& driver = cuda::driver().functions;
  int device = 0;
  KernelRequest request = {.fanouts = fanouts};
  int result = driver.init(0);
  if (result == 0) result = driver.device_get(&device, ordinal);
  if (result == 0) result = driver.device_attribute(&request.major, cuda::kMajorAttribute, device);
  if (result == 0) result = driver.device_attribute(&request.minor, cuda::kMinorAttribute, device);
  if (result != 0) return cuda::error_message(driver, result);
  try {
    compiled_kernels(request);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// A graph of kernels and products that starts with one call.
class CudaAccelerator::CapturedGraph final : public Accelerator::Recording {
 public:
  CapturedGraph(const CudaAccelerator& device, cuda::Graph graph) : device_(device) {
    const int result = device.driver_.instantiate(&exec_, graph, 0);
    device.driver_.destroy_graph(graph);
    device.check(result, "prepare the recorded work");
  }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  ~CapturedGraph() override { device_.driver_.destroy_exec(exec_); }
  void start() override {
    device_.check(device_.driver_.start_graph(exec_, device_.stream_), "start the recorded work");
  }

 private:
  const CudaAccelerator& device_;
  cuda::GraphExec exec_ = nullptr;
};

CudaAccelerator::CudaAccelerator(const Options& options)
    : ledger_(options.limit_bytes), driver_(needed(cuda::driver())), blas_(needed(cuda::blas())) {
  needed(cuda::compiler());
  check(driver_.init(0), "use the GPU");
  const int device = device_of(driver_, options.ordinal);
  name_ = name_of(driver_, device);
  KernelRequest request = {.fanouts = options.fanouts};
  check(driver_.device_attribute(&request.major, cuda::kMajorAttribute, device), "use the GPU");
  check(driver_.device_attribute(&request.minor, cuda::kMinorAttribute, device), "use the GPU");
  check(driver_.retain_context(&context_, device), "use the GPU");
  check(driver_.set_context(context_), "use the GPU");
  if (driver_.load_module(&module_, compiled_kernels(request).data()) != 0) {
    check(driver_.load_module(&module_, recompiled_kernels(request).data()), "load the GPU's code");
  }
  // Not `non-blocking`: what torch does on its default stream comes before or after, in order.
  check(driver_.create_stream(&stream_, 0), "open a stream of the GPU");
  const auto check_blas = [](int result) {
    if (result != 0) fail(ErrorKind::internal, "cuBLAS cannot be started: error {}", result);
  };
  check_blas(blas_.create(&handle_));
  check_blas(blas_.set_stream(handle_, stream_));
  workspace_ = {*this, "workspace", kWorkspaceBytes};
  check_blas(blas_.set_workspace(handle_, workspace_.data(), kWorkspaceBytes));
  check_blas(blas_.set_math(handle_, options.tf32 ? cuda::kBlasTf32Math : cuda::kBlasDefaultMath));
}

// The context belongs to torch, too, and stays.
CudaAccelerator::~CudaAccelerator() {
  driver_.wait_stream(stream_);
  if (handle_ != nullptr) blas_.destroy(handle_);
  workspace_ = {};
  if (module_ != nullptr) driver_.unload_module(module_);
  if (stream_ != nullptr) driver_.destroy_stream(stream_);
}

void CudaAccelerator::check(int result, const char* doing) const {
  if (result == 0) return;
  const ErrorKind kind = result == cuda::kOutOfMemory ? ErrorKind::memory : ErrorKind::internal;
  fail(kind, "cannot {}: {}{}", doing, cuda::error_message(driver_, result),
       kind == ErrorKind::memory ? "; stop other programs that use the GPU, or lower --gpu-memory"
                                 : "");
}

uint64_t CudaAccelerator::free_bytes() const {
  size_t free = 0;
  size_t total = 0;
  check(driver_.memory_info(&free, &total), "ask for the GPU's memory");
  return free;
}

void* CudaAccelerator::allocate(uint64_t bytes) {
  if (bytes == 0) return nullptr;
  cuda::DeviceAddress address = 0;
  const int result = driver_.allocate(&address, bytes);
  if (result == cuda::kOutOfMemory) {
    fail(ErrorKind::memory,
         "the GPU refuses {} ({} free); stop other programs that use it, or lower --gpu-memory",
         format_bytes(bytes), format_bytes(free_bytes()));
  }
  check(result, "take memory of the GPU");
  return std::bit_cast<void*>(address);
}

void CudaAccelerator::release(void* data) noexcept {
  if (data != nullptr) driver_.release(address_of(data));
}

const void* CudaAccelerator::reveal(const void* host, uint64_t bytes) {
  auto* const data = const_cast<void*>(host);
  check(driver_.register_host(data, bytes, cuda::kHostRegisterDeviceMap),
        "let the GPU read memory of the host");
  cuda::DeviceAddress address = 0;
  check(driver_.host_address(&address, data, 0), "let the GPU read memory of the host");
  return std::bit_cast<const void*>(address);
}

void CudaAccelerator::conceal(const void* host) noexcept {
  driver_.unregister_host(const_cast<void*>(host));
}

void CudaAccelerator::upload(void* to, const void* host, uint64_t bytes) {
  if (bytes == 0) return;
  check(driver_.upload(address_of(to), host, bytes, stream_), "copy to the GPU");
  wait();
}

void CudaAccelerator::download(void* host, const void* from, uint64_t bytes) {
  if (bytes == 0) return;
  check(driver_.download(host, address_of(from), bytes, stream_), "copy from the GPU");
  wait();
}

void CudaAccelerator::clear(void* data, uint64_t bytes) {
  if (bytes > 0) check(driver_.fill(address_of(data), 0, bytes, stream_), "clear the GPU's memory");
}

void CudaAccelerator::run(const KernelCall& work) {
  if (work.threads == 0) return;
  auto found = kernels_.find(work.name);
  if (found == kernels_.end()) {
    cuda::Function function = nullptr;
    check(driver_.find_function(&function, module_, work.name.c_str()), work.name.c_str());
    found = kernels_.emplace(work.name, function).first;
  }
  std::array<void*, 1> parameters = {const_cast<void*>(work.task)};
  check(driver_.launch(found->second, (work.threads + kBlockThreads - 1) / kBlockThreads, 1, 1,
                       kBlockThreads, 1, 1, 0, stream_, parameters.data(), nullptr),
        work.name.c_str());
}

// cuBLAS counts by columns, so it sees every matrix transposed: c^T = b^T a^T.
void CudaAccelerator::multiply(const Product& product) {
  const float one = 1;
  const float beta = product.add ? 1.0F : 0.0F;
  const auto transposed = [](bool yes) { return yes ? cuda::kBlasTransposed : cuda::kBlasPlain; };
  const int result = blas_.multiply(
      handle_, transposed(product.b_transposed), transposed(product.a_transposed),
      static_cast<int>(product.columns), static_cast<int>(product.rows),
      static_cast<int>(product.inner), &one, product.b, static_cast<int>(product.b_step), product.a,
      static_cast<int>(product.a_step), &beta, product.c, static_cast<int>(product.c_step));
  if (result != 0) fail(ErrorKind::internal, "cuBLAS cannot multiply: error {}", result);
}

void CudaAccelerator::wait() { check(driver_.wait_stream(stream_), "compute on the GPU"); }

std::unique_ptr<Accelerator::Recording> CudaAccelerator::record(const std::function<void()>& work) {
  check(driver_.begin_capture(stream_, cuda::kCaptureThreadLocal), "record work for the GPU");
  cuda::Graph graph = nullptr;
  try {
    work();
  } catch (...) {
    driver_.end_capture(stream_, &graph);
    if (graph != nullptr) driver_.destroy_graph(graph);
    throw;
  }
  check(driver_.end_capture(stream_, &graph), "record work for the GPU");
  return std::make_unique<CapturedGraph>(*this, graph);
}

}  // namespace plimsoll::gpu
