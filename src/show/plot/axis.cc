#include "plot/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "base/print.h"
#include "base/units.h"

namespace plimsoll::plot {
namespace {

constexpr double kMinute = 60;
constexpr double kHour = 3600;
constexpr double kDay = 24 * kHour;
constexpr double kWattHour = 3600;  // joules

struct Unit {
  double size = 1;
  std::string_view name;
};

// The largest unit of which the value is at least `least`; they are in rising order.
Unit largest(std::span<const Unit> units, double value, double least) {
  Unit chosen = units.front();
  for (const Unit& unit : units) {
    if (value >= unit.size * least) chosen = unit;
  }
  return chosen;
}

constexpr std::array kTimeUnits = {Unit{1e-6, "µs"},     Unit{1e-3, "ms"}, Unit{1, "s"},
                                   Unit{kMinute, "min"}, Unit{kHour, "h"}, Unit{kDay, "days"}};
constexpr std::array kByteUnits = {
    Unit{1, "B"}, Unit{static_cast<double>(kKiB), "KiB"}, Unit{static_cast<double>(kMiB), "MiB"},
    Unit{static_cast<double>(kGiB), "GiB"}, Unit{static_cast<double>(kGiB) * 1024, "TiB"}};
constexpr std::array kEnergyUnits = {Unit{1e-3, "mJ"}, Unit{1, "J"}, Unit{kWattHour, "Wh"},
                                     Unit{1000 * kWattHour, "kWh"}};
constexpr std::array kCountUnits = {Unit{1, ""}, Unit{1e6, "million"}, Unit{1e9, "billion"}};

// `largest_value`: the one farthest from 0.
Unit unit_for(Quantity quantity, double largest_value) {
  switch (quantity) {
    case Quantity::seconds:
      return largest(kTimeUnits, largest_value, 2);
    case Quantity::bytes:
      return largest(kByteUnits, largest_value, 1);
    case Quantity::joules:
      return largest(kEnergyUnits, largest_value, 2);
    case Quantity::count:
      return largest(kCountUnits, largest_value, 2);
    case Quantity::share:
      return {0.01, "%"};
    case Quantity::number:
      break;
  }
  return {1, ""};
}

// The smallest readable step that is not below `least`.
double nice_step(Quantity quantity, const Unit& unit, double least) {
  constexpr std::array kSixties = {1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0};
  constexpr std::array kHours = {0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 12.0, 24.0};
  const auto first_of = [&](std::span<const double> steps) -> std::optional<double> {
    for (const double step : steps) {
      if (step >= least) return step;
    }
    return std::nullopt;
  };
  if (quantity == Quantity::bytes) return std::exp2(std::ceil(std::log2(least) - 1e-9));
  const bool sixties = quantity == Quantity::seconds && (unit.size == 1 || unit.size == kMinute);
  if (sixties && least > 0.5) {
    if (const auto step = first_of(kSixties)) return *step;
  }
  if (quantity == Quantity::seconds && unit.size == kHour) {
    if (const auto step = first_of(kHours)) return *step;
  }
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 5.0, 10.0}) {
    if (digit * power >= least * (1 - 1e-9)) return digit * power;
  }
  return 10 * power;
}

int decimals_of(double step) {
  for (int decimals = 0; decimals < 6; ++decimals) {
    const double scaled = step * std::pow(10, decimals);
    if (std::abs(scaled - std::round(scaled)) < 1e-6 * std::max(1.0, scaled)) return decimals;
  }
  return 6;
}

std::string tick_text(Quantity quantity, double number, double step) {
  if (std::abs(number) < step * 1e-6) return "0";
  const double size = std::abs(number);
  if (quantity == Quantity::number && (size >= 1e6 || step < 1e-4)) {
    return fmt::format("{:.3g}", number);
  }
  const int decimals = decimals_of(step);
  if (decimals == 0 && size >= 1000 && size < 1e15) {
    return (number < 0 ? "−" : "") + format_count(static_cast<uint64_t>(std::llround(size)));
  }
  return fmt::format("{:.{}f}", number, decimals);
}

Scale named_scale(const Axis& axis) {
  Scale scale;
  scale.low = -0.5;
  scale.high = static_cast<double>(axis.names.size()) - 0.5;
  for (size_t i = 0; i < axis.names.size(); ++i) {
    scale.ticks.push_back({static_cast<double>(i), axis.names[i]});
  }
  return scale;
}

std::string log_text(Quantity quantity, double value) {
  if (quantity == Quantity::number || quantity == Quantity::count) {
    return value >= 0.001 && value < 1e6 ? fmt::format("{:g}", value)
                                         : fmt::format("{:.0e}", value);
  }
  return value_text(quantity, value);
}

Scale log_scale(const Axis& axis, double low, double high, size_t most) {
  Scale scale;
  scale.logarithmic = true;
  const bool binary = axis.quantity == Quantity::bytes;
  const auto log_of = [&](double value) { return binary ? std::log2(value) : std::log10(value); };
  const auto power = [&](double exponent) { return std::pow(binary ? 2 : 10, exponent); };
  double first = std::floor(log_of(low) + 1e-9);
  double last = std::ceil(log_of(high) - 1e-9);
  if (last <= first) last = first + 1;
  const double exponents = last - first;
  if (!binary && exponents <= 3) {  // 1, 2, 5, 10
    std::vector<double> all;
    for (int i = 0; first + i <= last; ++i) {
      for (const double digit : {1.0, 2.0, 5.0}) all.push_back(digit * power(first + i));
    }
    const auto below = std::find_if(all.rbegin(), all.rend(),
                                    [&](double value) { return value <= low * (1 + 1e-9); });
    const auto above = std::find_if(all.begin(), all.end(),
                                    [&](double value) { return value >= high * (1 - 1e-9); });
    scale.low = below == all.rend() ? power(first) : *below;
    scale.high = above == all.end() ? power(last) : *above;
    if (scale.high <= scale.low) scale.high = scale.low * 10;
    const auto inside = [&](double value) {
      return value >= scale.low * (1 - 1e-9) && value <= scale.high * (1 + 1e-9);
    };
    const auto count = static_cast<size_t>(std::ranges::count_if(all, inside));
    const bool all_fit = count <= most + 1;
    for (const double value : all) {
      if (!inside(value)) continue;
      const bool decade = std::abs(log_of(value) - std::round(log_of(value))) < 1e-9;
      scale.ticks.push_back(
          {value, all_fit || decade || exponents <= 1 ? log_text(axis.quantity, value) : ""});
    }
    return scale;
  }
  const double every =
      std::max(1.0, std::ceil(exponents / std::max<double>(1, static_cast<double>(most) - 1)));
  last = first + std::ceil(exponents / every) * every;
  scale.low = power(first);
  scale.high = power(last);
  for (int i = 0; first + i * every <= last + 0.5; ++i) {
    const double exponent = first + i * every;
    scale.ticks.push_back({power(exponent), log_text(axis.quantity, power(exponent))});
  }
  return scale;
}

}  // namespace

double Scale::share(double value) const {
  if (logarithmic) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

Scale scale_for(const Axis& axis, double low, double high, size_t most) {
  most = std::max<size_t>(most, 2);
  if (!axis.names.empty()) return named_scale(axis);
  if (!std::isfinite(low) || !std::isfinite(high)) low = 0, high = 1;
  if (low > high) std::swap(low, high);
  constexpr double kLeastFactor = 4;  // less looks the same on a linear scale
  if (axis.logarithmic && low > 0 && high / low >= kLeastFactor)
    return log_scale(axis, low, high, most);
  if (axis.from_zero) low = std::min(low, 0.0), high = std::max(high, 0.0);
  const double size = std::max(std::abs(low), std::abs(high));
  if (high - low <= size * 1e-12) {  // one value: put it in the middle
    const double room = size == 0 ? 1 : size * 0.1;
    if (!axis.from_zero || low != 0) low -= room;
    high += room;
  }
  const Unit unit = unit_for(axis.quantity, std::max(std::abs(low), std::abs(high)));
  double least = (high - low) / unit.size / static_cast<double>(most);
  if (axis.quantity == Quantity::count && unit.size == 1) least = std::max(least, 1.0);
  const double step = nice_step(axis.quantity, unit, least);
  Scale scale;
  scale.unit = unit.size;
  scale.unit_name = unit.name;
  const double first = std::floor(low / unit.size / step + 1e-9);
  const double last = std::max(first + 1, std::ceil(high / unit.size / step - 1e-9));
  scale.low = first * step * unit.size;
  scale.high = last * step * unit.size;
  for (int i = 0; first + i <= last + 0.5; ++i) {
    const double at = (first + i) * step;
    scale.ticks.push_back({at * unit.size, tick_text(axis.quantity, at, step)});
  }
  return scale;
}

std::string heading_of(const Axis& axis, const Scale& scale) {
  if (scale.unit_name.empty()) return axis.label;
  return fmt::format("{} ({})", axis.label, scale.unit_name);
}

namespace {

// "0.0125", "3,600": as many digits as asked, and never an exponent where all digits are readable.
std::string few_digits(double value, int digits) {
  const double size = std::abs(value);
  const bool all_fit = size < std::pow(10, digits) - 0.5;
  if (all_fit || size >= 1e12) return fmt::format("{:.{}g}", value, digits);
  return (value < 0 ? "−" : "") + format_count(static_cast<uint64_t>(std::llround(size)));
}

}  // namespace

std::string value_text(Quantity quantity, double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  switch (quantity) {
    case Quantity::seconds:
      if (size > 0 && size < 1) {
        const Unit unit = largest(kTimeUnits, size, 1);
        return fmt::format("{} {}", few_digits(value / unit.size, 3), unit.name);
      }
      return format_seconds(value);
    case Quantity::bytes:
      return format_bytes(static_cast<uint64_t>(std::max(0.0, value)));
    case Quantity::joules: {
      const Unit unit = largest(kEnergyUnits, size, 1);
      return fmt::format("{} {}", few_digits(value / unit.size, 3), unit.name);
    }
    case Quantity::share:
      return fmt::format("{:.1f} %", 100 * value);
    case Quantity::count:
      return (value < 0 ? "−" : "") + format_count(static_cast<uint64_t>(std::llround(size)));
    case Quantity::number:
      break;
  }
  return few_digits(value, 4);
}

double text_width(std::string_view text, double font_size) {
  double ems = 0;
  while (!text.empty()) {
    const auto found = first_character(text);
    const char32_t code = found ? found->code : U'?';
    text.remove_prefix(found ? found->bytes : 1);
    if (code >= 0x2e80) {
      ems += 1.05;
    } else if (code >= 0x80) {
      ems += 0.75;
    } else if (std::string_view(" .,:;'|!()[]ijlft/").find(static_cast<char>(code)) !=
               std::string_view::npos) {
      ems += 0.42;
    } else if (std::string_view("mwMW@%").find(static_cast<char>(code)) != std::string_view::npos) {
      ems += 1;
    } else {
      ems += code >= 'A' && code <= 'Z' ? 0.76 : 0.64;
    }
  }
  return ems * font_size;
}

std::string shortened(std::string_view text, double most_width, double font_size) {
  if (text_width(text, font_size) <= most_width) return std::string(text);
  std::string kept;
  while (!text.empty()) {
    const auto found = first_character(text);
    const size_t bytes = found ? found->bytes : 1;
    const std::string longer = kept + std::string(text.substr(0, bytes));
    if (text_width(longer + "…", font_size) > most_width) break;
    kept = longer;
    text.remove_prefix(bytes);
  }
  while (kept.ends_with(' ')) kept.pop_back();
  return kept + "…";
}

}  // namespace plimsoll::plot
