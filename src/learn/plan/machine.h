// The measured speed of a machine, from which a plan predicts times.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "gpu/rates.h"
#include "plan/making_rates.h"
#include "plan/measuring.h"
#include "recipe/recipe.h"

namespace plimsoll::plan {

constexpr size_t kModelKinds = 4;

// The cost of training steps on a device. The training library measures it with the layers that it
// trains with; this struct does not need torch.
struct StepRates {
  // Seconds of a step with almost no data: the cost of its operations, or of launching them.
  struct Fixed {
    double base = 0;
    double layer = 0;  // in addition for each layer
  };
  std::array<Fixed, kModelKinds> fixed = {};  // by recipe::ModelKind
  // Rates per second, of a GPU or of one CPU thread. Forward and backward together, unless stated
  // otherwise.
  double narrow_flops = 0;  // of products with kNarrow columns
  double wide_flops = 0;    // of products with kWide columns
  double activations = 0;   // values between two layers
  double sums = 0;          // values summed along edges, in one direction
  double attention = 0;     // values weighted along edges
  double losses = 0;        // logits
  double parameters = 0;    // updated by Adam
  double copied_bytes = 0;  // to a GPU; 0 on a CPU
  // The speed-up with `threads` threads, for matrix products and for passes over values.
  unsigned threads = 1;
  double product_gain = 1;
  double pass_gain = 1;
  // By how much a typical batch on a CPU is slower than these rates predict; by model.
  std::array<double, kModelKinds> slowdown = {1, 1, 1, 1};
  gpu::GpuRates on_gpu;        // of batches that a GPU makes itself
  uint64_t library_bytes = 0;  // memory that loading the training library took; 0 = not measured
  std::string device;          // "cpu", or the name of a GPU

  static constexpr uint64_t kNarrow = 16;
  static constexpr uint64_t kWide = 256;

  bool known() const { return wide_flops > 0; }
  const Fixed& of(recipe::ModelKind kind) const { return fixed.at(static_cast<size_t>(kind)); }
  bool operator==(const StepRates&) const = default;
};
inline bool operator==(const StepRates::Fixed& a, const StepRates::Fixed& b) {
  return a.base == b.base && a.layer == b.layer;
}

struct Machine {
  double reads_per_second = 0;       // random reads of `read_bytes`, by one io::ReadQueue
  double most_reads_per_second = 0;  // by several queues at the same time
  double read_seconds = 0;           // of a single read with no other in flight
  uint64_t read_bytes = 0;           // the smallest read of the disk, at least 512
  double read_bytes_per_second = 0;  // with large reads, several in flight
  std::string read_method;           // "io_uring", "pread on 32 threads"
  MakingRates making;
  StepRates step;  // on the device that trains; unknown without the training library
  unsigned threads = 0;
  double other_load = 0;  // cores that other programs used during the measurement

  bool known() const { return making.known() && step.known(); }
  // Whether other programs used so much that the machine is faster when it is quiet.
  bool was_busy() const {
    return spoils(other_load, std::max(1U, std::thread::hardware_concurrency()));
  }
  bool operator==(const Machine&) const = default;
};

}  // namespace plimsoll::plan
