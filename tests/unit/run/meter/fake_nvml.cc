// NVIDIA's management library as a test wants it. The file that FAKE_NVML_STATE names is read again
// at every call, so that a test can change the GPUs under a running program:
//
//   driver 550.54.14
//   entry_bytes 24                               of the process list: 16, 24 or 32
//   gpu UUID TOTAL_MIB USED_MIB [key=value ...]  energy=mJ power=mW util=% temp=C name=X_Y minor=N
//                                                instant=mW memory_temp=C
//   process GPU_INDEX PID MIB                    MIB - means the driver does not know
//   fail FUNCTION CODE                           e.g. fail nvmlInit_v2 9
//   now SECONDS, or: began EPOCH_SECONDS         what time it is for the curves below
//
// Of a gpu, instead of power and energy, so that both follow from one curve:
//   curve=0:100,5:300,10:100   watts at seconds, straight lines in between, from the beginning
//   again counter=mJ                 what the counter had at second 0; without it there is no
//   counter reset=SECONDS              the counter begins anew then, as when the driver is loaded
//   again silent=FROM-TO[,FROM-TO]   neither power nor counter answer
//
// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr unsigned long long kMiB = 1 << 20;

struct Gpu {
  std::string uuid;
  unsigned long long total_mib = 0;
  unsigned long long used_mib = 0;
  std::map<std::string, std::string> values;
};

struct Process {
  unsigned gpu = 0;
  uint32_t pid = 0;
  uint64_t bytes = 0;
};

struct State {
  std::string driver = "1.0";
  size_t entry_bytes = 24;
  std::vector<Gpu> gpus;
  std::vector<Process> processes;
  std::map<std::string, int> failing;
  double now = 0;
};

Gpu read_gpu(std::istringstream& words) {
  Gpu gpu;
  words >> gpu.uuid >> gpu.total_mib >> gpu.used_mib;
  for (std::string pair; words >> pair;) {
    const size_t equal = pair.find('=');
    gpu.values[pair.substr(0, equal)] = pair.substr(equal + 1);
  }
  return gpu;
}

State load() {
  State state;
  const char* path = std::getenv("FAKE_NVML_STATE");
  std::ifstream file(path == nullptr ? "" : path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "driver") words >> state.driver;
    if (kind == "entry_bytes") words >> state.entry_bytes;
    if (kind == "gpu") state.gpus.push_back(read_gpu(words));
    if (kind == "process") {
      Process process;
      std::string mib;
      words >> process.gpu >> process.pid >> mib;
      process.bytes = mib == "-" ? ~uint64_t{0} : std::stoull(mib) * kMiB;
      state.processes.push_back(process);
    }
    if (kind == "now") words >> state.now;
    if (kind == "began") {
      double began = 0;
      words >> began;
      timespec time{};
      clock_gettime(CLOCK_REALTIME, &time);
      state.now =
          static_cast<double>(time.tv_sec) - began + static_cast<double>(time.tv_nsec) / 1e9;
    }
    if (kind == "fail") {
      std::string function;
      words >> function >> state.failing[function];
    }
  }
  return state;
}

struct Knee {
  double at = 0;
  double watts = 0;
};

std::vector<Knee> curve_of(const std::string& text) {
  std::vector<Knee> knees;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t colon = part.find(':');
    knees.push_back({std::stod(part.substr(0, colon)), std::stod(part.substr(colon + 1))});
  }
  return knees;
}

struct Point {
  double watts = 0;
  double joules = 0;  // since the curve began
};

// Within one turn of the curve.
Point point_in(const std::vector<Knee>& knees, double at) {
  Point point{knees.front().watts, 0};
  for (size_t i = 1; i < knees.size() && knees[i - 1].at < at; ++i) {
    const double width = knees[i].at - knees[i - 1].at;
    const double part = std::min(at - knees[i - 1].at, width);
    const double rise = (knees[i].watts - knees[i - 1].watts) / width;
    point.watts = knees[i - 1].watts + rise * part;
    point.joules += part * (knees[i - 1].watts + point.watts) / 2;
  }
  return point;
}

Point point_at(const std::vector<Knee>& knees, double at) {
  const double turn = knees.back().at;
  const double turns = std::floor(at / turn);
  Point point = point_in(knees, at - turns * turn);
  point.joules += turns * point_in(knees, turn).joules;
  return point;
}

bool is_silent(const std::map<std::string, std::string>& values, double now) {
  const auto found = values.find("silent");
  if (found == values.end()) return false;
  std::istringstream parts(found->second);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t dash = part.find('-');
    if (now >= std::stod(part.substr(0, dash)) && now < std::stod(part.substr(dash + 1))) {
      return true;
    }
  }
  return false;
}

// A handle is the index plus one, so that none of them is null.
uint64_t index_of(void* device) { return reinterpret_cast<uint64_t>(device) - 1; }

int failure(const State& state, const std::string& function) {
  const auto found = state.failing.find(function);
  return found == state.failing.end() ? 0 : found->second;
}

int text_of(const std::string& value, char* text, unsigned size) {
  if (value.size() + 1 > size) return 7;
  std::memcpy(text, value.c_str(), value.size() + 1);
  return 0;
}

template <typename Number>
int value_of(void* device, const char* function, const char* key, Number* out) {
  const State state = load();
  if (const int code = failure(state, function)) return code;
  const auto& values = state.gpus.at(index_of(device)).values;
  const auto found = values.find(key);
  if (found == values.end()) return 3;  // not supported
  *out = static_cast<Number>(std::stoull(found->second));
  return 0;
}

}  // namespace

extern "C" {
int nvmlInit_v2() { return failure(load(), "nvmlInit_v2"); }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "Some Error"; }

int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return text_of(load().driver, text, size);
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  const State state = load();
  *count = static_cast<unsigned>(state.gpus.size());
  return failure(state, "nvmlDeviceGetCount_v2");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<uint64_t>(index) + 1);
  return failure(load(), "nvmlDeviceGetHandleByIndex_v2");
}

int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  return text_of(load().gpus.at(index_of(device)).uuid, text, size);
}

int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  State state = load();
  std::string name = state.gpus.at(index_of(device)).values["name"];
  for (char& c : name) c = c == '_' ? ' ' : c;
  return text_of(name, text, size);
}

int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
  return value_of(device, "nvmlDeviceGetMinorNumber", "minor", minor);
}

int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used) {
  const State state = load();
  const Gpu& gpu = state.gpus.at(index_of(device));
  total_free_used[0] = gpu.total_mib * kMiB;
  total_free_used[1] = (gpu.total_mib - gpu.used_mib) * kMiB;
  total_free_used[2] = gpu.used_mib * kMiB;
  return failure(state, "nvmlDeviceGetMemoryInfo");
}

int nvmlDeviceGetUtilizationRates(void* device, unsigned* gpu_memory) {
  return value_of(device, "nvmlDeviceGetUtilizationRates", "util", gpu_memory);
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  const State state = load();
  const auto& values = state.gpus.at(index_of(device)).values;
  if (is_silent(values, state.now)) return 15;  // the GPU is lost
  if (const auto curve = values.find("curve"); curve != values.end()) {
    if (const int code = failure(state, "nvmlDeviceGetPowerUsage")) return code;
    *milliwatts = static_cast<unsigned>(
        std::lround(1000 * point_at(curve_of(curve->second), state.now).watts));
    return 0;
  }
  return value_of(device, "nvmlDeviceGetPowerUsage", "power", milliwatts);
}

int nvmlDeviceGetTemperature(void* device, int /*sensor*/, unsigned* celsius) {
  return value_of(device, "nvmlDeviceGetTemperature", "temp", celsius);
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  const State state = load();
  const auto& values = state.gpus.at(index_of(device)).values;
  if (is_silent(values, state.now)) return 15;
  const auto counter = values.find("counter");
  if (const auto curve = values.find("curve"); curve != values.end() && counter != values.end()) {
    if (const int code = failure(state, "nvmlDeviceGetTotalEnergyConsumption")) return code;
    const auto knees = curve_of(curve->second);
    double joules = std::stod(counter->second) / 1000 + point_at(knees, state.now).joules;
    const auto reset = values.find("reset");
    if (reset != values.end() && state.now >= std::stod(reset->second)) {
      joules = point_at(knees, state.now).joules - point_at(knees, std::stod(reset->second)).joules;
    }
    *millijoules = static_cast<unsigned long long>(1000 * joules);
    return 0;
  }
  return value_of(device, "nvmlDeviceGetTotalEnergyConsumption", "energy", millijoules);
}

// NVIDIA's nvmlFieldValue_t.
struct Field {
  unsigned field, scope;
  long long timestamp, latency;
  int value_type, result;
  unsigned long long value;
};

int nvmlDeviceGetFieldValues(void* device, int count, Field* fields) {
  for (int i = 0; i < count; ++i) {
    const bool memory = fields[i].field == 82;
    unsigned value = 0;
    fields[i].result =
        value_of(device, "nvmlDeviceGetFieldValues", memory ? "memory_temp" : "instant", &value);
    fields[i].value_type = 1;
    fields[i].value = value;
  }
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, char* entries) {
  const State state = load();
  unsigned written = 0;
  for (const Process& process : state.processes) {
    if (process.gpu != index_of(device)) continue;
    if (written == *count) return 7;
    char* entry = entries + written++ * state.entry_bytes;
    std::memset(entry, 0, state.entry_bytes);
    std::memcpy(entry, &process.pid, sizeof process.pid);
    std::memcpy(entry + 8, &process.bytes, sizeof process.bytes);
  }
  *count = written;
  return failure(state, "nvmlDeviceGetComputeRunningProcesses_v3");
}
}  // extern "C"
// NOLINTEND(readability-identifier-naming)
