#include "energy/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace plimsoll::energy {

void Integral::add(double at, double value) {
  const double gap = at - last_at_;
  if (samples_ > 0 && gap <= most_gap_seconds_) {
    area_ += gap * (last_value_ + value) / 2;
    covered_seconds_ += gap;
  }
  last_at_ = at;
  last_value_ = value;
  ++samples_;
  smallest_ = std::min(smallest_.value_or(value), value);
  largest_ = std::max(largest_.value_or(value), value);
}

std::optional<double> Integral::mean() const {
  if (covered_seconds_ > 0) return area_ / covered_seconds_;
  return samples_ > 0 ? std::optional(last_value_) : std::nullopt;
}

namespace {

std::string text_of(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "";
}

bool any(const Series::Values& values) {
  return std::ranges::any_of(values, [](const auto& value) { return value.has_value(); });
}

}  // namespace

std::optional<double> combined(const Series::Values& values, Series::Together how) {
  if (values.empty()) return {};
  double sum = 0;
  double largest = 0;
  for (const auto& value : values) {
    if (!value) return {};
    sum += *value;
    largest = std::max(largest, *value);
  }
  switch (how) {
    case Series::Together::sum:
      return sum;
    case Series::Together::largest:
      return largest;
    case Series::Together::mean:
      break;
  }
  return sum / static_cast<double>(values.size());
}

Series::Series(std::filesystem::path file, std::vector<Column> columns,
               const std::vector<unsigned>& gpus)
    : file_(std::move(file)), columns_(std::move(columns)) {
  if (file_.empty()) return;
  stream_.open(file_, std::ios::binary | std::ios::trunc);
  std::string header = "timestamp";
  for (const Column& column : columns_) header += "," + column.name;
  if (gpus.size() > 1) {
    for (const Column& column : columns_) {
      // "gpu_temp_c" of GPU 1 is "gpu1_temp_c".
      const std::string rest =
          column.name.starts_with("gpu_") ? column.name.substr(4) : column.name;
      for (const unsigned gpu : gpus) header += fmt::format(",gpu{}_{}", gpu, rest);
    }
  }
  stream_ << header << '\n';
}

void Series::add(double seconds_since_epoch, const std::vector<Values>& values) {
  if (file_.empty() || !std::ranges::any_of(values, any)) return;
  std::string line = fmt::format("{:.3f}", seconds_since_epoch);
  for (size_t i = 0; i < columns_.size(); ++i) {
    line += "," + text_of(combined(values[i], columns_[i].together));
  }
  if (!values.empty() && values.front().size() > 1) {
    for (const Values& column : values) {
      for (const auto& value : column) line += "," + text_of(value);
    }
  }
  stream_ << line << '\n';
}

std::string Series::close() {
  if (file_.empty()) return "";
  stream_.flush();
  if (!stream_) return fmt::format("{} could not be written", file_.string());
  return "";
}

}  // namespace plimsoll::energy
