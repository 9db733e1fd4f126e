// A series of samples, written as it comes: a line for each moment, a column for each GPU.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::energy {

// One GPU:      timestamp,power_draw_w
// Several GPUs: timestamp,power_draw_w,gpu0_power_draw_w,gpu1_power_draw_w
// so that whoever reads the first columns reads all GPUs together: their sum, maximum or mean,
// empty where one of them did not answer. A moment in which none did has no line.
class Series {
 public:
  enum class Together { sum, largest, mean };
  struct Column {
    std::string name;
    Together together = Together::sum;
  };
  using Values = std::vector<std::optional<double>>;

  // `gpus`: their indices. Without a file, nothing is written.
  Series(std::filesystem::path file, std::vector<Column> columns,
         const std::vector<unsigned>& gpus);

  // `values`: for each column, one of each GPU.
  void add(double seconds_since_epoch, const std::vector<Values>& values);
  // Empty while everything could be written.
  std::string close();

 private:
  std::filesystem::path file_;
  std::ofstream stream_;
  std::vector<Column> columns_;
};

// Nothing where one of them is missing.
std::optional<double> together(const Series::Values& values, Series::Together how);

}  // namespace plimsoll::energy
