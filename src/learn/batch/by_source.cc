#include "batch/by_source.h"

#include <algorithm>

namespace plimsoll::batch {

// A counting sort. next[s] is where the next edge of s goes; it ends as where s + 1 begins, which
// is why it stands one place to the right.
void sort_by_source(const Block& block, const EdgesBySource& out) {
  const auto next = out.source_offsets.subspan(1);
  std::fill(out.source_offsets.begin(), out.source_offsets.end(), 0);
  for (const uint32_t source : block.indices) ++next[source + 1];
  for (uint32_t s = 0; s < block.sources; ++s) next[s + 1] += next[s];
  for (uint32_t i = 0; i < block.destinations; ++i) {
    for (uint32_t e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
      const uint32_t place = next[block.indices[e]]++;
      out.by_source[place] = i;
      out.source_edges[place] = e;
    }
  }
}

}  // namespace plimsoll::batch
