// What a store holds, in numbers: degrees, labels and how much of the visits its first rows take.
// One pass over three files; the memory needed does not grow with the nodes or the edges.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "graph/store.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::graph {

// Counts degrees: one counter for each below kExactDegrees, 64 for each doubling above, so that a
// percentile is exact where it is small and at most 1/64 too low where it is large.
class DegreeHistogram {
 public:
  static constexpr uint64_t kExactDegrees = 4096;

  explicit DegreeHistogram(memory::Ledger& ledger);

  void add(uint64_t degree);

  // The smallest degree that at least `percent` of the nodes do not exceed; 0 without nodes.
  uint64_t percentile(unsigned percent) const;
  // [0] counts degree 0, [k] degrees from 2^(k-1) to 2^k - 1; ends with the last that is not empty.
  std::vector<uint64_t> by_power_of_two() const;

  uint64_t nodes() const { return nodes_; }
  uint64_t minimum() const { return nodes_ == 0 ? 0 : minimum_; }
  uint64_t maximum() const { return maximum_; }

 private:
  memory::Buffer<uint64_t> counts_;
  uint64_t nodes_ = 0;
  uint64_t minimum_ = UINT64_MAX;
  uint64_t maximum_ = 0;
};

struct DegreeSummary {
  uint64_t minimum = 0;
  uint64_t median = 0;
  double mean = 0;
  uint64_t percentile_90 = 0;
  uint64_t percentile_99 = 0;
  uint64_t maximum = 0;
  uint64_t nodes_without_in_edges = 0;
  std::vector<uint64_t> by_power_of_two;  // as DegreeHistogram::by_power_of_two
};

struct ClassCount {
  uint64_t label = 0;
  uint64_t nodes = 0;
};

struct LabelSummary {
  uint64_t labelled = 0;
  uint64_t classes = 0;
  uint64_t empty_classes = 0;  // no node has them
  // Of the classes that some node has; of equals, the first.
  std::optional<ClassCount> largest;
  std::optional<ClassCount> smallest;
};

// The first `rows` rows, `rows_per_mille` of all (rounded up), take `visits_share` of the visits.
struct HotnessPoint {
  uint64_t rows_per_mille = 0;
  uint64_t rows = 0;
  double visits_share = 0;
};

struct StoreSummary {
  DegreeSummary degrees;
  LabelSummary labels;
  std::vector<HotnessPoint> hotness;  // empty where no visits are expected
};

// The bytes that summarise() reads.
uint64_t summary_bytes(const Store& store);

// Throws Error{store} where a file contradicts meta.json, and Error{memory} where the counters of
// the classes (4 bytes each) do not fit. `on_bytes` is told of every piece read.
StoreSummary summarise(const Store& store, memory::Ledger& ledger,
                       const std::function<void(uint64_t bytes)>& on_bytes);

}  // namespace plimsoll::graph
