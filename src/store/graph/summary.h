// A store in numbers: degrees, labels, and which share of the expected visits goes to the first
// rows. One pass over three files; the memory needed grows only with the number of classes.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "graph/store.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::graph {

// Counts degrees: one counter for each degree below kExactDegrees, then 64 counters for every
// doubling. A percentile is exact if it is below kExactDegrees, and at most 1/64 too low above.
class DegreeHistogram {
 public:
  static constexpr uint64_t kExactDegrees = 4096;

  explicit DegreeHistogram(memory::Ledger& ledger);

  void add(uint64_t degree);

  // The smallest degree that at least `percent` of the nodes do not exceed; 0 if there are no
  // nodes.
  uint64_t percentile(unsigned percent) const;
  // [0] counts degree 0, [k] degrees from 2^(k-1) to 2^k - 1. The last element is not 0.
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

// The degrees that DegreeSummary::by_power_of_two[index] counts.
struct DegreeRange {
  uint64_t first = 0;
  uint64_t last = 0;
};
DegreeRange degree_range(size_t index);

struct ClassCount {
  uint64_t label = 0;
  uint64_t nodes = 0;
};

struct LabelSummary {
  uint64_t labelled = 0;
  uint64_t classes = 0;
  uint64_t empty_classes = 0;  // classes without a node
  // Among the classes that have nodes; the first one if several are equal.
  std::optional<ClassCount> largest;
  std::optional<ClassCount> smallest;
};

// The first `rows` rows, which are `rows_per_mille` of all rows (rounded up), get `visits_share` of
// the expected visits.
struct HotnessPoint {
  uint64_t rows_per_mille = 0;
  uint64_t rows = 0;
  double visits_share = 0;
};

struct StoreSummary {
  DegreeSummary degrees;
  LabelSummary labels;
  std::vector<HotnessPoint> hotness;  // empty if no visits are expected
};

// How many bytes summarise() reads.
uint64_t summary_bytes(const Store& store);

// Throws Error{store} if a file contradicts meta.json, and Error{memory} if the class counters (4
// bytes each) do not fit. Calls `on_bytes` after every piece read.
StoreSummary summarise(const Store& store, memory::Ledger& ledger,
                       const std::function<void(uint64_t bytes)>& on_bytes);

// The store and its numbers, for other programs. `verified`: its checksums were compared.
nlohmann::ordered_json to_json(const Store& store, const StoreSummary& summary, bool verified);

}  // namespace plimsoll::graph
