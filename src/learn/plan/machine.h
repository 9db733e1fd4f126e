// What this machine can do, measured: the figures from which the time of a training is predicted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "memory/host.h"
#include "memory/ledger.h"
#include "plan/making.h"
#include "plan/step_rates.h"

namespace plimsoll::plan {

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

}  // namespace plimsoll::plan
