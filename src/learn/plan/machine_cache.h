// What was measured of this machine, kept from run to run: measuring takes a second and a half,
// and most runs are on the machine of the run before. A cache, so nothing about it is ever an
// error.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "memory/limit.h"
#include "plan/machine.h"

namespace plimsoll::plan {

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
