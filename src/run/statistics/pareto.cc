#include "statistics/pareto.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace plimsoll::statistics {

ParetoFront pareto_front(std::span<const Tradeoff> points) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(points[a].x, points[a].y, a) < std::tie(points[b].x, points[b].y, b);
  });
  ParetoFront front;
  double lowest = std::numeric_limits<double>::infinity();
  double lowest_x = 0;
  for (const size_t i : order) {
    const bool equal = !front.members.empty() && points[i].y == lowest && points[i].x == lowest_x;
    if (!(points[i].y < lowest) && !equal) continue;
    lowest = points[i].y;
    lowest_x = points[i].x;
    front.members.push_back(i);
  }
  if (front.members.size() < 3) return front;
  const Tradeoff first = points[front.members.front()];
  const Tradeoff last = points[front.members.back()];
  const double width = last.x - first.x;
  const double height = first.y - last.y;
  if (width <= 0 || height <= 0) return front;
  double farthest = std::numeric_limits<double>::epsilon();
  for (const size_t i : front.members) {
    // Both axes from 0 to 1, the line is x + y = 1.
    const double below = 1 - (points[i].x - first.x) / width - (points[i].y - last.y) / height;
    if (below <= farthest) continue;
    farthest = below;
    front.knee = i;
  }
  return front;
}

}  // namespace plimsoll::statistics
