#include "ranks/group.h"

#include <fmt/format.h>

namespace plimsoll::ranks {

bool Group::agree(bool mine) { return exchange(mine ? "yes" : "no").front() == "yes"; }

std::string rank_name(const Group& group, unsigned rank) {
  return fmt::format("rank {} on {}", rank, group.processes().at(rank).host);
}

}  // namespace plimsoll::ranks
