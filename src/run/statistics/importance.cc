#include "statistics/importance.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "statistics/distribution.h"
#include "statistics/sample.h"

namespace plimsoll::statistics {

std::optional<VarianceShare> variance_share(std::span<const double> values,
                                            std::span<const size_t> group) {
  std::map<size_t, std::vector<double>> groups;
  for (size_t i = 0; i < values.size(); ++i) groups[group[i]].push_back(values[i]);
  if (groups.size() < 2 || groups.size() == values.size()) return std::nullopt;
  const double mean = moments_of(values).mean;
  double between = 0;
  double within = 0;
  for (const auto& [number, members] : groups) {
    const double own = moments_of(members).mean;
    between += static_cast<double>(members.size()) * (own - mean) * (own - mean);
    for (const double value : members) within += (value - own) * (value - own);
  }
  const double total = between + within;
  if (total == 0) return std::nullopt;
  const auto between_degrees = static_cast<double>(groups.size() - 1);
  const auto within_degrees = static_cast<double>(values.size() - groups.size());
  const double noise = within / within_degrees;
  VarianceShare share{.groups = groups.size()};
  share.omega_squared = std::max(0.0, (between - between_degrees * noise) / (total + noise));
  if (noise == 0) {
    share.f = std::numeric_limits<double>::infinity();  // the groups explain all of it
    share.p = 0;
    return share;
  }
  share.f = between / between_degrees / noise;
  share.p = fisher_survival(share.f, between_degrees, within_degrees);
  return share;
}

std::vector<size_t> grouped(std::span<const double> settings, size_t most) {
  std::map<double, size_t> group;  // of each distinct setting
  std::vector<double> sorted(settings.begin(), settings.end());
  std::sort(sorted.begin(), sorted.end());
  const bool few = std::set<double>(sorted.begin(), sorted.end()).size() <= most;
  size_t last = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (group.contains(sorted[i])) continue;
    last = few ? group.size() : i * most / sorted.size();
    group[sorted[i]] = last;
  }
  std::vector<size_t> numbers;
  numbers.reserve(settings.size());
  for (const double setting : settings) numbers.push_back(group[setting]);
  return numbers;
}

}  // namespace plimsoll::statistics
