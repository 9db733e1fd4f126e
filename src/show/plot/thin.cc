// Thins long curves. Of each stretch of x the first, lowest, highest and last point stay, so that
// no peak is lost and the picture is the same to the pixel.
#include <algorithm>
#include <cmath>

#include "plot/svg.h"

namespace plimsoll::plot {

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, size_t most) {
  if (points.size() <= most || most < 4) return points;
  const size_t stretches = std::max<size_t>(1, most / 4);
  const double first = points.front().x;
  const double width = points.back().x - first;
  if (!(width > 0)) return {points.begin(), points.begin() + static_cast<ptrdiff_t>(most)};
  const auto stretch_of = [&](const ChartPoint& point) {
    const double share = (point.x - first) / width * static_cast<double>(stretches);
    return std::min(stretches - 1, static_cast<size_t>(std::max(0.0, share)));
  };
  const auto lower = [](const ChartPoint& a, const ChartPoint& b) {
    return std::isfinite(a.y) && (!std::isfinite(b.y) || a.y < b.y);
  };
  const auto higher = [](const ChartPoint& a, const ChartPoint& b) {
    return std::isfinite(a.y) && (!std::isfinite(b.y) || a.y > b.y);
  };
  std::vector<ChartPoint> kept;
  for (size_t begin = 0; begin < points.size();) {
    size_t end = begin + 1;
    const size_t stretch = stretch_of(points[begin]);
    while (end < points.size() && stretch_of(points[end]) == stretch) ++end;
    size_t lowest = begin;
    size_t highest = begin;
    for (size_t i = begin; i < end; ++i) {
      if (lower(points[i], points[lowest])) lowest = i;
      if (higher(points[i], points[highest])) highest = i;
    }
    std::vector<size_t> places = {begin, lowest, highest, end - 1};
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const size_t place : places) kept.push_back(points[place]);
    begin = end;
  }
  return kept;
}

}  // namespace plimsoll::plot
