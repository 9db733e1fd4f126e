// The machine in a few words, to be kept beside results: which CPU, how many, how much RAM.
#pragma once

#include <cstdint>
#include <string>

#include "base/host.h"

namespace plimsoll {

struct HostFacts {
  std::string host;   // its name; empty if it has none
  std::string cpu;    // "AMD EPYC 7763 64-Core Processor"; empty if unknown
  unsigned cpus = 0;  // that this process may use
  uint64_t ram_bytes = 0;
  std::string kernel;  // "Linux 6.1.0-18-amd64 x86_64"
};
HostFacts host_facts(const Host& host);

// The command line of this process, quoted for a shell; empty if /proc cannot be read.
std::string own_command();

}  // namespace plimsoll
