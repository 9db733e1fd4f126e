// What this machine can do, as far as a plan needs it: measured once, kept in a file.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "memory/host.h"
#include "memory/ledger.h"
#include "memory/limit.h"
#include "plan/measuring.h"
#include "recipe/recipe.h"

namespace plimsoll::plan {

// What a training step costs on a device: measured by the training library, with the layers that it
// trains with. Free of torch.

constexpr size_t kModelKinds = 4;

struct StepRates {
  // Seconds of a step on next to nothing: the cost of its operations, or of launching them.
  struct Fixed {
    double base = 0;
    double layer = 0;  // more for each layer
  };
  std::array<Fixed, kModelKinds> fixed = {};  // by recipe::ModelKind
  // The rest is a second's worth, of a GPU or of one thread. A value goes forward and backward,
  // unless something else stands here.
  double narrow_flops = 0;  // of products with kNarrow columns
  double wide_flops = 0;    // of products with kWide columns
  double activations = 0;   // values between two layers
  double sums = 0;          // values added up along edges, in one direction
  double attention = 0;     // values weighed along edges
  double losses = 0;        // logits
  double parameters = 0;    // changed by Adam
  double copied_bytes = 0;  // to a GPU; 0 on a CPU
  // How many times faster so many threads multiply, and go over values.
  unsigned threads = 1;
  double product_gain = 1;
  double pass_gain = 1;
  // How many times longer an ordinary batch takes on a CPU than all of these say; by model.
  std::array<double, kModelKinds> more = {1, 1, 1, 1};
  uint64_t library_bytes = 0;  // that loading the training library took; 0 = not seen
  std::string device;          // "cpu"; the name of a GPU

  static constexpr uint64_t kNarrow = 16;
  static constexpr uint64_t kWide = 256;

  bool known() const { return wide_flops > 0; }
  const Fixed& of(recipe::ModelKind kind) const { return fixed.at(static_cast<size_t>(kind)); }
  bool operator==(const StepRates&) const = default;
};
inline bool operator==(const StepRates::Fixed& a, const StepRates::Fixed& b) {
  return a.base == b.base && a.layer == b.layer;
}

// What this machine can do, measured: the figures from which the time of a training is predicted.

struct Machine {
  double reads_per_second = 0;       // of `read_bytes` each, at random, by an io::ReadQueue
  double most_reads_per_second = 0;  // by several of them at once
  double read_seconds = 0;           // of one read with no other under way
  uint64_t read_bytes = 0;           // the smallest read that the disk does, 512 at least
  double read_bytes_per_second = 0;  // by reads of a megabyte, several at once
  std::string read_method;           // "io_uring", "pread on 32 threads"
  MakingRates making;
  StepRates step;  // on the device that trains; unknown without the training library
  unsigned threads = 0;
  double other_load = 0;  // cores that other programs used meanwhile

  bool known() const { return making.known() && step.known(); }
  // Whether others took so much that a quiet machine is faster than these figures.
  bool was_busy() const;
  bool operator==(const Machine&) const = default;
};

// Measures training steps with `computing` threads, while the others make batches.
using MeasureSteps = std::function<StepRates(unsigned computing, memory::Ledger& ledger)>;

// Takes about six seconds, and as much of the ledger as helps, up to 640 MiB: rows that lie in
// the CPU's caches would come too fast. Reads `file`, past the page cache where its file system
// allows: the larger it is, the truer, for a disk has caches, too. An empty path or file has no
// rates of reads: 0. Without `measure_steps` the step stays unknown. Throws Error{io} where the
// file cannot be read.
Machine calibrate(const std::filesystem::path& file, unsigned threads,
                  const MeasureSteps& measure_steps, memory::Ledger& ledger,
                  const memory::Host& host = memory::Host::real());

// What was measured of this machine, kept from run to run: measuring takes a second and a half,
// and most runs are on the machine of the run before. A cache, so nothing about it is ever an
// error.

// $XDG_CACHE_HOME/plimsoll/machine.json, else the same below ~/.cache; empty where neither is
// set.
std::filesystem::path machine_cache_file(const memory::Host& host = memory::Host::real());

// "AMD EPYC, 2 threads, disk 254:0, cpu": what the figures depend on. The disk is the one of
// `file`, which may be empty; a file that fits into the caches of a disk has a key of its own.
// `device` is what trains.
std::string machine_key(const std::filesystem::path& file, unsigned threads,
                        const std::string& device, const memory::Host& host = memory::Host::real());

// Nothing where the file is missing, of another version or damaged, or does not know the key.
std::optional<Machine> load_machine(const std::filesystem::path& cache_file,
                                    const std::string& key);

// Beside what the file knows already. False where it cannot be written.
bool save_machine(const std::filesystem::path& cache_file, const std::string& key,
                  const Machine& machine);

struct Wanted {
  std::filesystem::path file;  // on the disk in question; empty = no disk
  unsigned threads = 1;
  std::string device = "cpu";  // "cpu", or the name of a GPU
  bool again = false;          // measure in any case
  MeasureSteps measure_steps;  // empty where there is no training library, or no room for it
  memory::Host host = memory::Host::real();  // whose other load is watched, and whose cache is used
};

// As it was measured before, else measured now and saved. What was measured on a busy machine, or
// without the training library where there is one now, is measured again as soon as possible.
Machine known_machine(const Wanted& wanted, memory::Ledger& ledger);

}  // namespace plimsoll::plan
