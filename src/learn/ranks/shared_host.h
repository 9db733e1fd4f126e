// Which ranks share a host, so that they can share memory and see each other's processes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/host.h"

namespace plimsoll::ranks {

// One rank's process, as the others know it. Two ranks share a host if their `machine` is the same:
// the kernel's boot id, and the namespace that gives processes their numbers.
struct RankProcess {
  std::string host;  // its name, for messages
  std::string machine;
  int pid = 0;

  bool operator==(const RankProcess&) const = default;
};

RankProcess this_process(const Host& host = Host::real());

// As text for another rank, and back. Throws Error{internal} if the text has another form.
std::string to_text(const RankProcess& process);
RankProcess parse_process(std::string_view text);

// The ranks on the same host as `rank`, in ascending order, itself included. The first is the
// host's leader, which loads what they share.
std::vector<unsigned> ranks_of_host(const std::vector<RankProcess>& all, unsigned rank);

}  // namespace plimsoll::ranks
