// What a GPU does in a second, for plans.
#pragma once

#include "gpu/accelerator.h"
#include "memory/ledger.h"

namespace plimsoll::gpu {

struct GpuRates {
  double start_seconds = 0;  // of one kind of work in a recording
  double pass_bytes = 0;     // bytes a second of passes over values
  double row_bytes = 0;      // of rows at random places of the GPU's memory
  double far_bytes = 0;      // of rows at random places of the host's memory
  double narrow_flops = 0;   // of products with kNarrowColumns columns
  double wide_flops = 0;     // of products with kWideColumns columns

  static constexpr double kNarrowColumns = 16;
  static constexpr double kWideColumns = 256;

  bool known() const { return wide_flops > 0 && row_bytes > 0; }
  bool operator==(const GpuRates&) const = default;
};

// Takes about half a second, and kMeasuringBytes of the device and kFarMeasuringBytes of the host.
// The device must have been made for the fan-out kMeasuredFanout.
constexpr uint32_t kMeasuredFanout = 10;
constexpr uint64_t kMeasuringBytes = uint64_t{512} << 20;
constexpr uint64_t kFarMeasuringBytes = uint64_t{64} << 20;
GpuRates measure_rates(Accelerator& device, memory::Ledger& host);

}  // namespace plimsoll::gpu
