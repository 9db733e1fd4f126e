// The measured speed of this machine, from which a plan predicts times: how to measure it, and the
// cache file that keeps it between runs.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/host.h"
#include "gpu/rates.h"
#include "memory/ledger.h"
#include "memory/limit.h"
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
  std::array<double, kModelKinds> more = {1, 1, 1, 1};
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
  bool was_busy() const;
  bool operator==(const Machine&) const = default;
};

// Measures training steps with `computing` threads, while the other threads make batches.
using MeasureSteps = std::function<StepRates(unsigned computing, memory::Ledger& ledger)>;

// Takes about six seconds, and up to 640 MiB of the ledger: with less, rows would be in the CPU's
// caches and the rates too high. Reads `file`, bypassing the page cache if the file system allows.
// A large file gives better rates, because a disk has caches, too. If the path or the file is
// empty, the read rates are 0. Without `measure_steps` the step rates stay unknown. Throws
// Error{io} if the file cannot be read.
Machine calibrate(const std::filesystem::path& file, unsigned threads,
                  const MeasureSteps& measure_steps, memory::Ledger& ledger,
                  const Host& host = Host::real());

// The cache file: $XDG_CACHE_HOME/plimsoll/machine.json, else the same in ~/.cache; empty if
// neither variable is set. Problems with the cache are never an error: the machine is then measured
// again.
std::filesystem::path machine_cache_file(const Host& host = Host::real());

// The key of an entry in the cache, which names everything the rates depend on: "AMD EPYC, 2
// threads, disk 254:0, cpu". The disk is that of `file`, which may be empty; a file that is small
// enough for a disk's caches gets a different key. `device` is the device that trains.
std::string machine_key(const std::filesystem::path& file, unsigned threads,
                        const std::string& device, const Host& host = Host::real());

// Empty if the file is missing, damaged or of another version, or does not have the key.
std::optional<Machine> load_machine(const std::filesystem::path& cache_file,
                                    const std::string& key);

// Adds or replaces the entry. False if the file cannot be written.
bool save_machine(const std::filesystem::path& cache_file, const std::string& key,
                  const Machine& machine);

struct Wanted {
  std::filesystem::path file;  // on the disk to measure; empty = do not measure a disk
  unsigned threads = 1;
  std::string device = "cpu";  // "cpu", or the name of a GPU
  bool again = false;          // measure even if the cache has the key
  MeasureSteps measure_steps;  // empty if there is no training library, or no memory for it
  Host host = Host::real();    // for the load of other programs and the cache file
};

// From the cache, else measured now and saved. Rates that were measured on a busy machine, or
// without the training library although there is one now, are measured again as soon as possible.
Machine known_machine(const Wanted& wanted, memory::Ledger& ledger);

// Whether known_machine() would measure now instead of taking the rates from the cache. Measuring
// takes seconds, which a command should announce.
bool must_measure(const Wanted& wanted);

}  // namespace plimsoll::plan
