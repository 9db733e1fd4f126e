// The Pareto front: the points that no other point beats in one figure without losing in the other.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll::statistics {

struct Tradeoff {
  double x = 0;
  double y = 0;
};

struct ParetoFront {
  std::vector<size_t> members;  // indices of points, by rising x
  // The index of the point that is farthest below the line between both ends of the front, each
  // axis scaled to the front's range. Nothing if fewer than three points are on it, or if none is
  // below the line.
  std::optional<size_t> knee;
};

// Smaller is better in both. Of equal points, all are members.
ParetoFront pareto_front(std::span<const Tradeoff> points);

}  // namespace plimsoll::statistics
