// The energy counters of this machine's CPU packages and their memory. They are read through
// powercap, or through perf if powercap is not readable; otherwise missing_because() says why.
// Opened once, read many times.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/host.h"
#include "energy/counter.h"
#include "meter/cpu_power.h"

namespace plimsoll::energy {

class CpuCounters {
 public:
  using OpenEvent = std::function<Fd(const meter::PowerEvent&)>;
  static CpuCounters open(const Host& host = Host::real(),
                          const OpenEvent& open_event = meter::open_power_event);

  struct Domain {
    std::string name;  // "package-0", "dram", "energy-pkg of CPU 0"
    std::string file;
    bool is_memory = false;
    bool is_event = false;  // a perf event: a read returns 8 bytes
    double joules_per_count = 0;
    Fd fd;
    RisingCounter counter;
  };

  const std::string& source() const { return source_; }  // "powercap", "perf", or empty
  const std::string& missing_because() const { return missing_because_; }
  const std::vector<Domain>& domains() const { return domains_; }

  // In the order of the domains. A domain that cannot be read now has no value; read_failure() says
  // why.
  std::vector<std::optional<Cumulative>> read(double at);
  const std::string& read_failure() const { return read_failure_; }

 private:
  std::string source_;
  std::string missing_because_;
  std::string read_failure_;
  std::vector<Domain> domains_;
};

}  // namespace plimsoll::energy
