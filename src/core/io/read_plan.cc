#include "io/read_plan.h"

#include <algorithm>

namespace plimsoll::io {

Extent ReadRules::around(const Extent& wanted) const {
  const uint64_t begin = wanted.offset / alignment * alignment;
  const uint64_t end = (wanted.end() + alignment - 1) / alignment * alignment;
  return {begin, end - begin};
}

bool ReadRules::joins(const Extent& open, const Extent& next) const {
  if (next.offset < open.end()) return true;  // they share a sector
  if (std::max(open.end(), next.end()) - open.offset > most_bytes) return false;
  return next.offset - open.end() <= price.widest_gap_bytes();
}

std::vector<Extent> plan_reads(const ReadRules& rules, std::span<const Extent> wanted) {
  std::vector<Extent> requests;
  for (const Extent& part : wanted) {
    const Extent sectors = rules.around(part);
    if (!requests.empty() && rules.joins(requests.back(), sectors)) {
      Extent& open = requests.back();
      open.bytes = std::max(open.end(), sectors.end()) - open.offset;
    } else {
      requests.push_back(sectors);
    }
  }
  return requests;
}

}  // namespace plimsoll::io
