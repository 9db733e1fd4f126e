#include "graph/summary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "io/file.h"

namespace plimsoll::graph {
namespace {

using nlohmann::ordered_json;
using OnBytes = std::function<void(uint64_t bytes)>;

constexpr uint64_t kPieceValues = 16384;
constexpr std::array<uint64_t, 7> kRowsPerMille = {1, 10, 20, 50, 100, 200, 500};

// The histogram's counters: one for each degree below kExactDegrees, then 64 for every power of
// two.
constexpr int kExactBits = std::countr_zero(DegreeHistogram::kExactDegrees);
constexpr int kStepBits = 6;
constexpr uint64_t kCounters =
    DegreeHistogram::kExactDegrees + (uint64_t{64 - kExactBits} << kStepBits);

constexpr uint64_t counter_of(uint64_t degree) {
  if (degree < DegreeHistogram::kExactDegrees) return degree;
  const int power = static_cast<int>(std::bit_width(degree)) - 1;
  const uint64_t step = (degree >> (power - kStepBits)) - (uint64_t{1} << kStepBits);
  return DegreeHistogram::kExactDegrees + (static_cast<uint64_t>(power - kExactBits) << kStepBits) +
         step;
}

constexpr uint64_t lowest_degree_of(uint64_t counter) {
  if (counter < DegreeHistogram::kExactDegrees) return counter;
  const uint64_t above = counter - DegreeHistogram::kExactDegrees;
  const int power = kExactBits + static_cast<int>(above >> kStepBits);
  const uint64_t step = above & ((uint64_t{1} << kStepBits) - 1);
  return ((uint64_t{1} << kStepBits) + step) << (power - kStepBits);
}

static_assert(counter_of(UINT64_MAX) == kCounters - 1);
static_assert(lowest_degree_of(counter_of(uint64_t{1} << 40)) == uint64_t{1} << 40);

// Calls visit(index, value) for every value of the file, in order.
template <typename T, typename Visit>
void for_each_value(const Store& store, const std::string& file, memory::Ledger& ledger,
                    const OnBytes& on_bytes, Visit visit) {
  io::FileReader reader(ledger, store.file(file));
  const memory::Buffer<T> piece(ledger, "summary", kPieceValues);
  uint64_t index = 0;
  while (const size_t count = reader.read_values(piece.span())) {
    throw_if_interrupted();
    for (const T value : piece.first(count)) visit(index++, value);
    on_bytes(count * sizeof(T));
  }
}

DegreeSummary summarise_degrees(const Store& store, memory::Ledger& ledger,
                                const OnBytes& on_bytes) {
  DegreeHistogram histogram(ledger);
  const uint64_t edges = store.meta().edges;
  uint64_t before = 0;
  for_each_value<uint64_t>(store, "offsets.u64", ledger, on_bytes, [&](uint64_t i, uint64_t end) {
    if (i == 0 ? end != 0 : end < before || end > edges) {
      fail(ErrorKind::store,
           "{}: offset {} is {}, after {} and with {} edges in all; import the graph again",
           store.file("offsets.u64").string(), i, end, before, edges);
    }
    if (i > 0) histogram.add(end - before);
    before = end;
  });
  if (before != edges) {
    fail(ErrorKind::store, "{} ends at edge {}, meta.json says {}; import the graph again",
         store.file("offsets.u64").string(), before, edges);
  }
  const uint64_t nodes = histogram.nodes();
  DegreeSummary summary;
  summary.minimum = histogram.minimum();
  summary.median = histogram.percentile(50);
  summary.mean = nodes == 0 ? 0 : static_cast<double>(edges) / static_cast<double>(nodes);
  summary.percentile_90 = histogram.percentile(90);
  summary.percentile_99 = histogram.percentile(99);
  summary.maximum = histogram.maximum();
  summary.by_power_of_two = histogram.by_power_of_two();
  summary.nodes_without_in_edges = nodes == 0 ? 0 : summary.by_power_of_two[0];
  return summary;
}

LabelSummary summarise_labels(const Store& store, memory::Ledger& ledger, const OnBytes& on_bytes) {
  LabelSummary summary;
  summary.classes = store.meta().classes;
  const memory::Buffer<uint32_t> counts(ledger, "class counts", summary.classes);
  for_each_value<int32_t>(store, "labels.i32", ledger, on_bytes, [&](uint64_t node, int32_t label) {
    if (label == -1) return;
    if (label < 0 || static_cast<uint64_t>(label) >= summary.classes) {
      fail(ErrorKind::store, "{}: node {} has label {}, meta.json says {} classes; import again",
           store.file("labels.i32").string(), node, label, summary.classes);
    }
    ++summary.labelled;
    ++counts[static_cast<uint64_t>(label)];
  });
  if (summary.labelled != store.meta().labelled) {
    fail(ErrorKind::store, "{} has {} labelled nodes, meta.json says {}; import the graph again",
         store.file("labels.i32").string(), summary.labelled, store.meta().labelled);
  }
  for (uint64_t label = 0; label < summary.classes; ++label) {
    const ClassCount count = {label, counts[label]};
    if (count.nodes == 0) {
      ++summary.empty_classes;
      continue;
    }
    if (!summary.largest || count.nodes > summary.largest->nodes) summary.largest = count;
    if (!summary.smallest || count.nodes < summary.smallest->nodes) summary.smallest = count;
  }
  return summary;
}

std::vector<HotnessPoint> summarise_hotness(const Store& store, memory::Ledger& ledger,
                                            const OnBytes& on_bytes) {
  const uint64_t nodes = store.meta().nodes;
  std::vector<HotnessPoint> curve;
  curve.reserve(kRowsPerMille.size());
  for (const uint64_t per_mille : kRowsPerMille) {
    curve.push_back({.rows_per_mille = per_mille, .rows = (nodes * per_mille + 999) / 1000});
  }
  double sum = 0;
  size_t next = 0;
  for_each_value<float>(store, "hotness.f32", ledger, on_bytes, [&](uint64_t row, float visits) {
    if (!std::isfinite(visits) || visits < 0) {
      fail(ErrorKind::store, "{}: row {} expects {} visits; import the graph again",
           store.file("hotness.f32").string(), row, visits);
    }
    sum += static_cast<double>(visits);
    for (; next < curve.size() && curve[next].rows == row + 1; ++next) {
      curve[next].visits_share = sum;
    }
  });
  if (sum == 0) return {};
  for (HotnessPoint& point : curve) point.visits_share /= sum;
  return curve;
}

double part_of(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

ordered_json to_json(const std::optional<ClassCount>& count, uint64_t labelled) {
  if (!count) return nullptr;
  return {
      {"class", count->label}, {"nodes", count->nodes}, {"share", part_of(count->nodes, labelled)}};
}

ordered_json to_json(const DegreeSummary& degrees) {
  ordered_json histogram = ordered_json::array();
  for (size_t i = 0; i < degrees.by_power_of_two.size(); ++i) {
    const auto [first, last] = degree_range(i);
    histogram.push_back({{"from", first}, {"to", last}, {"nodes", degrees.by_power_of_two[i]}});
  }
  return {{"min", degrees.minimum},
          {"median", degrees.median},
          {"mean", degrees.mean},
          {"p90", degrees.percentile_90},
          {"p99", degrees.percentile_99},
          {"max", degrees.maximum},
          {"nodes_without_in_edges", degrees.nodes_without_in_edges},
          {"histogram", histogram}};
}

}  // namespace

DegreeHistogram::DegreeHistogram(memory::Ledger& ledger)
    : counts_(ledger, "degree histogram", kCounters) {}

void DegreeHistogram::add(uint64_t degree) {
  ++counts_[counter_of(degree)];
  ++nodes_;
  minimum_ = std::min(minimum_, degree);
  maximum_ = std::max(maximum_, degree);
}

uint64_t DegreeHistogram::percentile(unsigned percent) const {
  const uint64_t rank = (nodes_ * percent + 99) / 100;
  uint64_t seen = 0;
  for (uint64_t counter = 0; counter < counts_.size(); ++counter) {
    seen += counts_[counter];
    if (seen > 0 && seen >= rank) return std::max(minimum_, lowest_degree_of(counter));
  }
  return 0;
}

std::vector<uint64_t> DegreeHistogram::by_power_of_two() const {
  std::vector<uint64_t> nodes;
  if (nodes_ == 0) return nodes;
  nodes.resize(static_cast<size_t>(std::bit_width(maximum_)) + 1);
  for (uint64_t counter = 0; counter < counts_.size(); ++counter) {
    if (counts_[counter] == 0) continue;
    nodes[static_cast<size_t>(std::bit_width(lowest_degree_of(counter)))] += counts_[counter];
  }
  return nodes;
}

uint64_t summary_bytes(const Store& store) {
  const auto& files = store.meta().files;
  return files.at("offsets.u64").bytes + files.at("labels.i32").bytes +
         files.at("hotness.f32").bytes;
}

StoreSummary summarise(const Store& store, memory::Ledger& ledger, const OnBytes& on_bytes) {
  StoreSummary summary;
  summary.degrees = summarise_degrees(store, ledger, on_bytes);
  summary.labels = summarise_labels(store, ledger, on_bytes);
  summary.hotness = summarise_hotness(store, ledger, on_bytes);
  return summary;
}

DegreeRange degree_range(size_t index) {
  if (index == 0) return {};
  return {uint64_t{1} << (index - 1), (uint64_t{1} << (index - 1)) * 2 - 1};
}

ordered_json to_json(const Store& store, const StoreSummary& summary, bool verified) {
  const Meta& meta = store.meta();
  ordered_json files = ordered_json::object();
  for (const auto& [file, about] : meta.files) {
    files[file] = {{"bytes", about.bytes}, {"xxh3", about.checksum}};
  }
  ordered_json hotness = ordered_json::array();
  for (const HotnessPoint& point : summary.hotness) {
    hotness.push_back({{"rows_share", static_cast<double>(point.rows_per_mille) / 1000},
                       {"rows", point.rows},
                       {"visits_share", point.visits_share}});
  }
  const LabelSummary& labels = summary.labels;
  return {{"store", store.folder().string()},
          {"version", kStoreVersion},
          {"source", meta.source},
          {"nodes", meta.nodes},
          {"edges", meta.edges},
          {"direction", name(meta.direction)},
          {"order", name(meta.order)},
          {"features",
           {{"columns", meta.feature_columns},
            {"type", name(meta.feature_type)},
            {"row_bytes", meta.row_bytes},
            {"first_layer", name(meta.first_layer)}}},
          {"bytes", store.size_bytes()},
          {"files", files},
          {"verified", verified},
          {"degrees", to_json(summary.degrees)},
          {"labels",
           {{"labelled", labels.labelled},
            {"classes", labels.classes},
            {"empty_classes", labels.empty_classes},
            {"largest", to_json(labels.largest, labels.labelled)},
            {"smallest", to_json(labels.smallest, labels.labelled)}}},
          {"splits",
           {{"train", meta.split_sizes[0]},
            {"valid", meta.split_sizes[1]},
            {"test", meta.split_sizes[2]}}},
          {"hotness", hotness}};
}

}  // namespace plimsoll::graph
