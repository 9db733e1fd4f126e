#include "plan/lines.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "io/lined_file.h"

namespace plimsoll::plan {
namespace {

constexpr size_t kFiles = 3;

bool has_lists(const recipe::Recipe& recipe) { return recipe.model != recipe::ModelKind::mlp; }

// Visits to list bounds. If degrees of the whole graph are needed, a batch reads the bounds of all
// its nodes, else only of those whose neighbours it samples.
const std::vector<double>& bounds_visits(const Work& work) {
  const bool all_degrees =
      work.recipe.model == recipe::ModelKind::gcn && work.recipe.norm == recipe::Norm::full;
  return all_degrees ? work.probe.visited : work.probe.expanded;
}

// A line at `bytes` saves `visits` reads per batch.
struct Point {
  double bytes = 0;
  double visits = 0;
};

template <typename BytesAt>
std::vector<Point> points(const StoreShape& store, const std::vector<double>& visits,
                          const BytesAt& bytes_at) {
  std::vector<Point> points = {{0, 0}};
  double sum = 0;
  for (size_t i = 0; i < visits.size(); ++i) {
    sum += visits[i];
    points.push_back({static_cast<double>(bytes_at(store.marks[i + 1])), sum});
  }
  return points;
}

// The corners of the points' upper hull. A hot row may come after a cold row or after the long list
// of a hub; both are then valued together.
std::vector<Point> hull(const std::vector<Point>& points) {
  std::vector<Point> corners;
  for (const Point& point : points) {
    const auto below_the_chord = [&] {
      const Point& a = corners[corners.size() - 2];
      const Point& b = corners.back();
      return (b.visits - a.visits) * (point.bytes - a.bytes) <=
             (point.visits - a.visits) * (b.bytes - a.bytes);
    };
    while (corners.size() >= 2 && below_the_chord()) corners.pop_back();
    if (!corners.empty() && point.bytes <= corners.back().bytes) {
      corners.back().visits = std::max(corners.back().visits, point.visits);
    } else {
      corners.push_back(point);
    }
  }
  return corners;
}

double visits_a_byte(const Point& from, const Point& to) {
  return (to.visits - from.visits) / (to.bytes - from.bytes);
}

uint64_t down_to_step(uint64_t bytes, uint64_t file_bytes) {
  if (bytes >= file_bytes) return file_bytes;
  return bytes / io::kLineStepBytes * io::kLineStepBytes;
}

// The node at which a line at this edge of the lists is, interpolated between marks.
double node_at_edge(const StoreShape& store, uint64_t edge) {
  const auto after =
      std::upper_bound(store.marks.begin(), store.marks.end(), edge,
                       [](uint64_t value, const Mark& mark) { return value < mark.edges; });
  if (after == store.marks.begin()) return 0;
  const Mark& from = *std::prev(after);
  if (after == store.marks.end()) return static_cast<double>(from.node);
  const double part =
      static_cast<double>(edge - from.edges) / static_cast<double>(after->edges - from.edges);
  return static_cast<double>(from.node) + part * static_cast<double>(after->node - from.node);
}

double visits_before(const StoreShape& store, const std::vector<double>& visits, double node) {
  double sum = 0;
  for (size_t i = 0; i < visits.size(); ++i) {
    const auto first = static_cast<double>(store.marks[i].node);
    const auto last = static_cast<double>(store.marks[i + 1].node);
    if (node <= first) break;
    sum += visits[i] * std::min(1.0, (node - first) / (last - first));
  }
  return sum;
}

// The share of visits to nodes before this one; exactly 1 if the whole file is resident.
double share_before(const StoreShape& store, const std::vector<double>& visits, double node,
                    bool resident) {
  const double all = std::accumulate(visits.begin(), visits.end(), 0.0);
  if (resident || all <= 0) return 1;
  return std::min(1.0, visits_before(store, visits, node) / all);
}

}  // namespace

Lines all_resident(const Work& work) {
  const StoreShape& store = work.store;
  if (!has_lists(work.recipe)) return {0, 0, store.features_bytes()};
  return {store.offsets_bytes(), store.neighbors_bytes(), store.features_bytes()};
}

uint64_t line_bytes(const Lines& lines) {
  return lines.offsets_bytes + lines.neighbors_bytes + lines.features_bytes;
}

LineChoice::LineChoice(const Work& work) : all_(all_resident(work)) {
  const StoreShape& store = work.store;
  std::array<std::vector<Point>, kFiles> corners;
  if (has_lists(work.recipe)) {
    corners[0] = hull(points(store, bounds_visits(work),
                             [](const Mark& mark) { return (mark.node + 1) * sizeof(uint64_t); }));
    corners[1] = hull(points(store, work.probe.list_reads,
                             [](const Mark& mark) { return mark.edges * sizeof(uint32_t); }));
  }
  corners[2] = hull(points(store, work.probe.visited,
                           [&](const Mark& mark) { return mark.node * store.row_bytes; }));
  std::array<size_t, kFiles> at = {};
  for (;;) {
    size_t best = kFiles;
    double most = -1;
    for (size_t file = 0; file < kFiles; ++file) {
      if (at[file] + 1 >= corners[file].size()) continue;
      const double gain = visits_a_byte(corners[file][at[file]], corners[file][at[file] + 1]);
      if (gain > most) {
        best = file;
        most = gain;
      }
    }
    if (best == kFiles) return;
    const Point& from = corners[best][at[best]];
    const Point& to = corners[best][++at[best]];
    stretches_.push_back({best, static_cast<uint64_t>(to.bytes - from.bytes)});
  }
}

Lines LineChoice::within(uint64_t room_bytes) const {
  std::array<uint64_t, kFiles> lines = {};
  for (const Stretch& stretch : stretches_) {
    const uint64_t bytes = std::min(stretch.bytes, room_bytes);
    lines.at(stretch.file) += bytes;
    room_bytes -= bytes;
    if (room_bytes == 0) break;
  }
  return {down_to_step(lines[0], all_.offsets_bytes), down_to_step(lines[1], all_.neighbors_bytes),
          down_to_step(lines[2], all_.features_bytes)};
}

Reads predict_reads(const Work& work, const Lines& lines) {
  const StoreShape& store = work.store;
  const BatchSize& batch = work.probe.batch;
  Reads reads;
  const uint64_t rows = store.row_bytes == 0 ? 0 : lines.features_bytes / store.row_bytes;
  reads.rows_hits = share_before(store, work.probe.visited, static_cast<double>(rows),
                                 lines.features_bytes >= store.features_bytes());
  reads.rows = (1 - reads.rows_hits) * static_cast<double>(batch.nodes);
  if (!has_lists(work.recipe)) return reads;

  const std::vector<double>& bounds = bounds_visits(work);
  const uint64_t offsets = lines.offsets_bytes / sizeof(uint64_t);
  reads.offsets_hits = share_before(store, bounds, static_cast<double>(offsets) - 1,
                                    lines.offsets_bytes >= store.offsets_bytes());
  const std::vector<double>& lists = work.probe.list_reads;
  reads.lists_hits =
      share_before(store, lists, node_at_edge(store, lines.neighbors_bytes / sizeof(uint32_t)),
                   lines.neighbors_bytes >= store.neighbors_bytes());
  const double bounds_sum = std::accumulate(bounds.begin(), bounds.end(), 0.0);
  const double lists_sum = std::accumulate(lists.begin(), lists.end(), 0.0);
  reads.lists = (1 - reads.offsets_hits) * bounds_sum + (1 - reads.lists_hits) * lists_sum;
  const double all = bounds_sum + lists_sum;
  reads.adjacency_hits = all > 0 ? 1 - reads.lists / all : 1;
  return reads;
}

}  // namespace plimsoll::plan
