// The functions of NVIDIA's driver, NVRTC and cuBLAS that are used, as NVIDIA documents them:
// signatures for dlsym, so that no header of theirs is needed to compile, and one program works
// with every version. The libraries are opened when a GPU is used for the first time; NVRTC and
// cuBLAS are those that torch brings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace plimsoll::gpu::cuda {

using Context = struct ContextHandle*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;
using ModuleHandle = struct ModuleRecord*;
using Function = struct FunctionHandle*;
using Graph = struct GraphHandle*;
using GraphExec = struct GraphExecHandle*;
using Program = struct ProgramHandle*;
using Blas = struct BlasHandle*;
using Management = struct ManagementHandle*;
using DeviceAddress = uint64_t;

constexpr int kMajorAttribute = 75;
constexpr int kMinorAttribute = 76;
constexpr unsigned kHostRegisterPortable = 1;
constexpr unsigned kHostRegisterDeviceMap = 2;
constexpr unsigned kEventWithoutTimes = 2;
constexpr int kCaptureThreadLocal = 1;
constexpr int kOutOfMemory = 2;  // as a result of the driver
constexpr int kNotReady = 600;   // likewise
constexpr int kBlasDefaultMath = 0;
constexpr int kBlasTf32Math = 3;
constexpr int kBlasPlain = 0;
constexpr int kBlasTransposed = 1;

struct DriverFunctions {
  int (*init)(unsigned flags);
  int (*device_count)(int* count);
  int (*device_get)(int* device, int ordinal);
  int (*device_name)(char* name, int length, int device);
  int (*device_total_memory)(size_t* bytes, int device);
  int (*device_bus_id)(char* id, int length, int device);
  int (*device_attribute)(int* value, int attribute, int device);
  int (*retain_context)(Context* context, int device);
  int (*release_context)(int device);
  int (*set_context)(Context context);
  int (*push_context)(Context context);
  int (*pop_context)(Context* context);
  int (*wait_context)();
  int (*record_context)(Context context, Event event);  // null before CUDA 12.5
  int (*create_event)(Event* event, unsigned flags);
  int (*query_event)(Event event);
  int (*destroy_event)(Event event);
  int (*memory_info)(size_t* free, size_t* total);
  int (*allocate)(DeviceAddress* address, size_t bytes);
  int (*release)(DeviceAddress address);
  int (*register_host)(void* data, size_t bytes, unsigned flags);
  int (*unregister_host)(void* data);
  int (*host_address)(DeviceAddress* address, void* data, unsigned flags);
  int (*upload)(DeviceAddress to, const void* from, size_t bytes, Stream stream);
  int (*download)(void* to, DeviceAddress from, size_t bytes, Stream stream);
  int (*fill)(DeviceAddress to, unsigned char value, size_t bytes, Stream stream);
  int (*create_stream)(Stream* stream, unsigned flags);
  int (*destroy_stream)(Stream stream);
  int (*wait_stream)(Stream stream);
  int (*begin_capture)(Stream stream, int mode);
  int (*end_capture)(Stream stream, Graph* graph);
  int (*instantiate)(GraphExec* exec, Graph graph, uint64_t flags);
  int (*start_graph)(GraphExec exec, Stream stream);
  int (*destroy_exec)(GraphExec exec);
  int (*destroy_graph)(Graph graph);
  int (*load_module)(ModuleHandle* module, const void* image);
  int (*unload_module)(ModuleHandle module);
  int (*find_function)(Function* function, ModuleHandle module, const char* name);
  int (*launch)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                Stream stream, void** parameters, void** extra);
  int (*error_text)(int result, const char** text);
};

// Of NVML, which tells what is free without a context. It comes with the driver.
struct ManagementFunctions {
  struct Memory {
    uint64_t total_bytes;
    uint64_t free_bytes;
    uint64_t used_bytes;
  };
  int (*init)();
  int (*device_at)(const char* bus_id, Management* device);
  int (*memory)(Management device, Memory* memory);
};

struct CompilerFunctions {
  int (*version)(int* major, int* minor);
  int (*create)(Program* program, const char* source, const char* name, int headers,
                const char* const* texts, const char* const* names);
  int (*compile)(Program program, int count, const char* const* options);
  int (*binary_size)(Program program, size_t* bytes);
  int (*binary)(Program program, char* out);
  int (*log_size)(Program program, size_t* bytes);
  int (*log)(Program program, char* out);
  int (*destroy)(Program* program);
};

struct BlasFunctions {
  int (*create)(Blas* handle);
  int (*destroy)(Blas handle);
  int (*set_stream)(Blas handle, Stream stream);
  int (*set_workspace)(Blas handle, void* data, size_t bytes);
  int (*set_math)(Blas handle, int mode);
  int (*multiply)(Blas handle, int a_transposed, int b_transposed, int m, int n, int k,
                  const float* alpha, const float* a, int a_step, const float* b, int b_step,
                  const float* beta, float* c, int c_step);
};

// Each is opened once. `missing` says why a library or one of its functions is not there; it is
// empty if all is well.
template <typename Functions>
struct Opened {
  Functions functions = {};
  std::string missing;
};
const Opened<DriverFunctions>& driver();
const Opened<ManagementFunctions>& management();
const Opened<CompilerFunctions>& compiler();
const Opened<BlasFunctions>& blas();

// What a result of the driver other than 0 means, in its words.
std::string error_message(const DriverFunctions& driver, int result);

// Folders where the compiler and cuBLAS are looked for first, in order. Call it before they are
// opened, on the same thread.
void look_first_in(std::vector<std::filesystem::path> folders);

// Where a pip-installed torch, or the CUDA toolkit, keeps these libraries. `torch_folder` holds
// libtorch.so.
std::vector<std::filesystem::path> cuda_folders(const std::filesystem::path& torch_folder);

}  // namespace plimsoll::gpu::cuda
