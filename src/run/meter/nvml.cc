// The GPUs through NVIDIA's management library. Every figure but memory is optional: what a device
// does not support, or a function that an old driver does not have, is a missing value, not an
// error.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "meter/gpu.h"
#include "meter/gpu_processes.h"
#include "meter/nvml_functions.h"

namespace plimsoll::meter {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr unsigned kFirstProcesses = 128;
constexpr unsigned kMostProcesses = 16'384;

// An open library. Never closed: drivers leave threads and exit handlers behind.
class Library {
 public:
  explicit Library(const std::string& file) : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) error_ = dlerror();
  }
  bool is_open() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }

  // The first of the names that the driver has; null if it has none of them.
  template <typename Function>
  Function find(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (void* symbol = dlsym(handle_, name)) return reinterpret_cast<Function>(symbol);
    }
    return nullptr;
  }

 private:
  void* handle_;
  std::string error_;
};

struct Functions {
  explicit Functions(const Library& library)
      : init(library.find<nvml::Plain>({"nvmlInit_v2", "nvmlInit"})),
        shutdown(library.find<nvml::Plain>({"nvmlShutdown"})),
        error_string(library.find<nvml::ErrorString>({"nvmlErrorString"})),
        driver_version(library.find<nvml::SystemText>({"nvmlSystemGetDriverVersion"})),
        count(library.find<nvml::Count>({"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"})),
        handle(library.find<nvml::HandleByIndex>(
            {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"})),
        uuid(library.find<nvml::DeviceText>({"nvmlDeviceGetUUID"})),
        name(library.find<nvml::DeviceText>({"nvmlDeviceGetName"})),
        minor(library.find<nvml::DeviceNumber>({"nvmlDeviceGetMinorNumber"})),
        memory(library.find<nvml::DeviceMemory>({"nvmlDeviceGetMemoryInfo"})),
        memory2(library.find<nvml::DeviceMemory2>({"nvmlDeviceGetMemoryInfo_v2"})),
        utilisation(library.find<nvml::DeviceUtilisation>({"nvmlDeviceGetUtilizationRates"})),
        power(library.find<nvml::DeviceNumber>({"nvmlDeviceGetPowerUsage"})),
        temperature(library.find<nvml::DeviceTemperature>({"nvmlDeviceGetTemperature"})),
        energy(library.find<nvml::DeviceCounter>({"nvmlDeviceGetTotalEnergyConsumption"})),
        fields(library.find<nvml::DeviceFields>({"nvmlDeviceGetFieldValues"})),
        compute(library.find<nvml::DeviceProcesses>({"nvmlDeviceGetComputeRunningProcesses_v3",
                                                     "nvmlDeviceGetComputeRunningProcesses_v2",
                                                     "nvmlDeviceGetComputeRunningProcesses"})),
        graphics(library.find<nvml::DeviceProcesses>({"nvmlDeviceGetGraphicsRunningProcesses_v3",
                                                      "nvmlDeviceGetGraphicsRunningProcesses_v2",
                                                      "nvmlDeviceGetGraphicsRunningProcesses"})) {}

  bool has_the_needed() const {
    return init != nullptr && count != nullptr && handle != nullptr && uuid != nullptr &&
           (memory != nullptr || memory2 != nullptr);
  }
  std::string describe(nvml::Result result) const {
    if (error_string != nullptr) return error_string(result);
    return fmt::format("NVML error {}", result);
  }

  nvml::Plain init, shutdown;
  nvml::ErrorString error_string;
  nvml::SystemText driver_version;
  nvml::Count count;
  nvml::HandleByIndex handle;
  nvml::DeviceText uuid, name;
  nvml::DeviceNumber minor;
  nvml::DeviceMemory memory;
  nvml::DeviceMemory2 memory2;
  nvml::DeviceUtilisation utilisation;
  nvml::DeviceNumber power;
  nvml::DeviceTemperature temperature;
  nvml::DeviceCounter energy;
  nvml::DeviceFields fields;
  nvml::DeviceProcesses compute, graphics;
};

template <typename Value, typename Function, typename... Args>
std::optional<Value> ask(Function function, Args... args) {
  Value value{};
  if (function == nullptr || function(args..., &value) != nvml::kSuccess) return {};
  return value;
}

std::string ask_text(nvml::DeviceText function, nvml::Device device) {
  std::array<char, 128> text{};
  if (function == nullptr || function(device, text.data(), text.size()) != nvml::kSuccess)
    return {};
  return text.data();
}

class NvmlGpus : public Gpus {
 public:
  NvmlGpus(const Functions& functions, fs::path proc)
      : functions_(functions), proc_(std::move(proc)) {}
  ~NvmlGpus() override {
    if (functions_.shutdown != nullptr) functions_.shutdown();
  }
  NvmlGpus(const NvmlGpus&) = delete;
  NvmlGpus& operator=(const NvmlGpus&) = delete;

  std::vector<GpuReading> read() override {
    const auto users = device_users(proc_);
    return read_all([&](nvml::Device device, GpuReading& reading) {
      const auto minor = ask<unsigned>(functions_.minor, device);
      const auto listed = listed_processes(device);
      reading.holders = gpu_holders(proc_, listed, users, minor.value_or(reading.index));
    });
  }

  std::vector<GpuReading> read_counters() override {
    return read_all([](nvml::Device, GpuReading&) {});
  }

  std::vector<GpuSample> sample(const std::vector<unsigned>& indices, bool slow_ones) override {
    std::vector<GpuSample> samples;
    samples.reserve(indices.size());
    for (const unsigned index : indices) samples.push_back(sample_one(index, slow_ones));
    return samples;
  }

  std::string driver_version() const override {
    std::array<char, 128> text{};
    if (functions_.driver_version != nullptr) {
      functions_.driver_version(text.data(), text.size());
    }
    return text.data();
  }

 private:
  template <typename Complete>
  std::vector<GpuReading> read_all(const Complete& complete) const {
    unsigned count = 0;
    check(functions_.count(&count), "count the GPUs");
    std::vector<GpuReading> readings;
    for (unsigned index = 0; index < count; ++index) {
      nvml::Device device = nullptr;
      // One that a container or a batch system keeps from us.
      if (functions_.handle(index, &device) != nvml::kSuccess) continue;
      readings.push_back(read_one(device, index));
      complete(device, readings.back());
    }
    return readings;
  }

  GpuReading read_one(nvml::Device device, unsigned index) const {
    GpuReading reading{.index = index,
                       .uuid = ask_text(functions_.uuid, device),
                       .name = ask_text(functions_.name, device)};
    read_memory(device, reading);
    if (const auto rates = ask<nvml::Utilisation>(functions_.utilisation, device)) {
      reading.utilisation_percent = rates->gpu;
    }
    if (const auto milliwatts = ask<unsigned>(functions_.power, device)) {
      reading.power_watts = static_cast<double>(*milliwatts) / 1000;
    }
    reading.temperature_celsius = ask<unsigned>(functions_.temperature, device, nvml::kGpuSensor);
    if (const auto energy = ask<uint64_t>(functions_.energy, device)) {
      reading.energy_millijoules = *energy;
    }
    return reading;
  }

  GpuSample sample_one(unsigned index, bool slow_ones) const {
    GpuSample sample;
    nvml::Device device = nullptr;
    if (const nvml::Result result = functions_.handle(index, &device); result != nvml::kSuccess) {
      sample.no_power_because = sample.no_energy_because = functions_.describe(result);
      return sample;
    }
    read_power(device, sample);
    uint64_t energy = 0;
    const nvml::Result counted =
        functions_.energy == nullptr ? nvml::kFunctionNotFound : functions_.energy(device, &energy);
    if (counted == nvml::kSuccess) sample.energy_millijoules = energy;
    if (counted != nvml::kSuccess) {
      sample.no_energy_because =
          "nvmlDeviceGetTotalEnergyConsumption: " + functions_.describe(counted);
    }
    if (!slow_ones) return sample;
    sample.temperature_celsius = ask<unsigned>(functions_.temperature, device, nvml::kGpuSensor);
    sample.memory_temperature_celsius = field(device, nvml::kMemoryTemperature);
    if (const auto rates = ask<nvml::Utilisation>(functions_.utilisation, device)) {
      sample.utilisation_percent = rates->gpu;
      sample.memory_utilisation_percent = rates->memory;
    }
    return sample;
  }

  // The power of this moment where the driver has it: the older function gives the mean of the
  // last second on GPUs since Ampere, which lags behind the start and the end of a run.
  void read_power(nvml::Device device, GpuSample& sample) const {
    if (const auto milliwatts = field(device, nvml::kInstantPower); milliwatts.value_or(0) > 0) {
      sample.power_watts = static_cast<double>(*milliwatts) / 1000;
      return;
    }
    unsigned milliwatts = 0;
    const nvml::Result result = functions_.power == nullptr ? nvml::kFunctionNotFound
                                                            : functions_.power(device, &milliwatts);
    if (result == nvml::kSuccess) {
      sample.power_watts = static_cast<double>(milliwatts) / 1000;
    } else {
      sample.no_power_because = "nvmlDeviceGetPowerUsage: " + functions_.describe(result);
    }
  }

  std::optional<unsigned> field(nvml::Device device, unsigned number) const {
    nvml::FieldValue value{.field = number};
    if (functions_.fields == nullptr || functions_.fields(device, 1, &value) != nvml::kSuccess ||
        value.result != nvml::kSuccess || value.value_type == nvml::kFloatingPoint) {
      return {};
    }
    return static_cast<unsigned>(value.value);
  }

  void read_memory(nvml::Device device, GpuReading& reading) const {
    nvml::Memory2 memory2{.version = nvml::kMemory2Version};
    if (functions_.memory2 != nullptr && functions_.memory2(device, &memory2) == nvml::kSuccess) {
      reading.total_bytes = memory2.total;
      reading.used_bytes = memory2.used;
      reading.free_bytes = memory2.free;
      return;
    }
    nvml::Memory memory{};
    if (functions_.memory == nullptr) fail(ErrorKind::io, "cannot read the memory of the GPUs");
    check(functions_.memory(device, &memory), "read the memory of a GPU");
    reading.total_bytes = memory.total;
    reading.used_bytes = memory.used;
    reading.free_bytes = memory.free;
  }

  std::vector<ListedProcess> listed_processes(nvml::Device device) const {
    auto listed = list(functions_.compute, device);
    const auto graphics = list(functions_.graphics, device);
    listed.insert(listed.end(), graphics.begin(), graphics.end());
    return listed;
  }

  std::vector<ListedProcess> list(nvml::DeviceProcesses function, nvml::Device device) const {
    if (function == nullptr) return {};
    const auto exists = [this](pid_t pid) {
      struct stat about {};
      return ::stat((proc_ / std::to_string(pid)).c_str(), &about) == 0;
    };
    for (unsigned room = kFirstProcesses; room <= kMostProcesses; room *= 2) {
      std::vector<std::byte> memory(room * kLargestEntryBytes, kUnwritten);
      unsigned count = room;
      const nvml::Result result = function(device, &count, memory.data());
      if (result == nvml::kSuccess) return parse_process_list(memory, count, exists);
      if (result != nvml::kInsufficientSize) return {};
    }
    return {};
  }

  void check(nvml::Result result, const char* what) const {
    if (result == nvml::kSuccess) return;
    fail(ErrorKind::io, "the NVIDIA driver cannot {}: {}; see if nvidia-smi works", what,
         functions_.describe(result));
  }

  const Functions functions_;
  const fs::path proc_;
};

}  // namespace

GpuAccess open_gpus(const Host& host) {
  const std::string file = host.variable("PLIMSOLL_NVML").value_or(kLibrary);
  const Library library(file);
  if (!library.is_open()) {
    return {.gpus = nullptr,
            .missing_because = fmt::format("there is no NVIDIA driver ({})", library.error())};
  }
  const Functions functions(library);
  if (!functions.has_the_needed()) {
    return {.gpus = nullptr,
            .missing_because = fmt::format("{} is no NVIDIA management library", file)};
  }
  if (const nvml::Result result = functions.init(); result != nvml::kSuccess) {
    const bool stale = result == nvml::kLibraryMismatch;
    return {.gpus = nullptr,
            .missing_because =
                fmt::format("the NVIDIA driver does not answer: {}{}", functions.describe(result),
                            stale ? "; it was updated: reboot or reload it" : "")};
  }
  return {.gpus = std::make_unique<NvmlGpus>(functions, host.root / "proc"), .missing_because = {}};
}

}  // namespace plimsoll::meter
