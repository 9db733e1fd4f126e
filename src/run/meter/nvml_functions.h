// The part of NVML's interface that is used, as NVIDIA documents it: signatures for dlsym, so that
// no header of theirs is needed to compile.
#pragma once

#include <cstdint>

namespace plimsoll::meter::nvml {

using Device = struct DeviceHandle*;
using Result = int;  // 0 is success
constexpr Result kSuccess = 0;
constexpr Result kInsufficientSize = 7;
constexpr Result kFunctionNotFound = 13;
constexpr Result kLibraryMismatch = 18;
constexpr int kGpuSensor = 0;  // of temperatures

struct Memory {
  uint64_t total, free, used;  // `used` includes what the driver keeps for itself
};
struct Memory2 {
  unsigned version;
  uint64_t total, reserved, free, used;
};
constexpr unsigned kMemory2Version = sizeof(Memory2) | (2U << 24);
struct Utilisation {
  unsigned gpu, memory;  // percent of the last period in which it was busy
};
// A figure that is read by a number, because NVML has no function for it.
struct FieldValue {
  unsigned field, scope;
  int64_t timestamp, latency_microseconds;
  int value_type;
  Result result;
  uint64_t value;  // a union; value_type says how many bytes count
};
constexpr unsigned kMemoryTemperature = 82;
constexpr unsigned kInstantPower = 186;  // milliwatts at this moment, not an average
constexpr int kFloatingPoint = 0;        // a value_type; all others are whole numbers

using Plain = Result (*)();
using ErrorString = const char* (*)(Result);
using SystemText = Result (*)(char* text, unsigned size);
using Count = Result (*)(unsigned*);
using HandleByIndex = Result (*)(unsigned, Device*);
using DeviceText = Result (*)(Device, char* text, unsigned size);
using DeviceNumber = Result (*)(Device, unsigned*);
using DeviceCounter = Result (*)(Device, uint64_t*);
using DeviceMemory = Result (*)(Device, Memory*);
using DeviceMemory2 = Result (*)(Device, Memory2*);
using DeviceUtilisation = Result (*)(Device, Utilisation*);
using DeviceTemperature = Result (*)(Device, int sensor, unsigned* celsius);
using DeviceFields = Result (*)(Device, int count, FieldValue*);
using DeviceProcesses = Result (*)(Device, unsigned* count, void* entries);

}  // namespace plimsoll::meter::nvml
