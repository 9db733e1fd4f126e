#include "energy/report.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::energy {
namespace {

void add_words(std::string& all, const std::string& more) {
  if (more.empty() || all.find(more) != std::string::npos) return;
  all += (all.empty() ? "" : "; ") + more;
}

}  // namespace

std::string name(Quality quality) {
  switch (quality) {
    case Quality::exclusive:
      return "exclusive";
    case Quality::shared:
      return "shared";
    case Quality::unavailable:
      break;
  }
  return "unavailable";
}

Quality quality_of(const std::string& name) {
  if (name == "exclusive") return Quality::exclusive;
  return name == "shared" ? Quality::shared : Quality::unavailable;
}

Figure unavailable(const std::string& because) {
  Figure figure;
  figure.reason = because;
  return figure;
}

std::optional<double> disagreement(const GpuFigures& gpu) {
  const auto counted = gpu.counter.joules;
  const auto integral = gpu.integral.joules;
  if (!counted || !integral || *counted <= 0) return {};
  return std::abs(*integral - *counted) / *counted;
}

Figure sum_of(const std::vector<Figure>& figures) {
  Figure sum;
  sum.joules = 0;
  sum.net_joules = 0;
  sum.coverage = 1;
  sum.quality = Quality::exclusive;
  for (const Figure& figure : figures) {
    sum.joules =
        sum.joules && figure.joules ? std::optional(*sum.joules + *figure.joules) : std::nullopt;
    sum.net_joules = sum.net_joules && figure.net_joules
                         ? std::optional(*sum.net_joules + *figure.net_joules)
                         : std::nullopt;
    sum.coverage = std::min(sum.coverage, figure.coverage);
    sum.quality = std::max(sum.quality, figure.quality);
    add_words(sum.source, figure.source);
    add_words(sum.reason, figure.reason);
  }
  if (figures.empty() || !sum.joules) {
    Figure none = unavailable(sum.reason);
    return none;
  }
  return sum;
}

}  // namespace plimsoll::energy
