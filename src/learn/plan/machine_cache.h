// The file that keeps measured machines between runs, so that each is measured once.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/host.h"
#include "memory/ledger.h"
#include "plan/calibration.h"
#include "plan/machine.h"

namespace plimsoll::plan {

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

struct MachineRequest {
  std::filesystem::path file;  // on the disk to measure; empty = do not measure a disk
  unsigned threads = 1;
  std::string device = "cpu";  // "cpu", or the name of a GPU
  bool again = false;          // measure even if the cache has the key
  MeasureSteps measure_steps;  // empty if there is no training library, or no memory for it
  Host host = Host::real();    // for the load of other programs and the cache file
};

// From the cache, else measured now and saved. Rates that were measured on a busy machine, or
// without the training library although there is one now, are measured again as soon as possible.
Machine known_machine(const MachineRequest& request, memory::Ledger& ledger);

// Whether known_machine() would measure now instead of taking the rates from the cache. Measuring
// takes seconds, which a command should announce.
bool must_measure(const MachineRequest& request);

}  // namespace plimsoll::plan
