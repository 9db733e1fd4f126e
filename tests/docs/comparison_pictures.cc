// comparison_pictures PAGE FOLDER [--check]: draws the tables of docs/guides/comparison.md as
// FOLDER/comparison-memory.svg and FOLDER/comparison-time.svg. With --check, it compares the files
// with what it would draw, and fails if they differ.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text_file.h"
#include "base/units.h"
#include "io/partial_file.h"
#include "plot/chart.h"
#include "plot/svg.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSetting = "### ";
constexpr size_t kCells = 5;  // who, on what, memory in GiB, an epoch, known from

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  if (!line.starts_with("| ")) return cells;
  line.remove_prefix(2);
  for (size_t bar = line.find(" |"); bar != std::string_view::npos; bar = line.find(" |")) {
    cells.emplace_back(line.substr(0, bar));
    line.remove_prefix(std::min(line.size(), bar + 3));
  }
  return cells;
}

// "20 min 22 s", "31 s".
double seconds_in(const std::string& cell) {
  std::istringstream words(cell);
  double seconds = 0;
  double number = 0;
  for (std::string unit; words >> number >> unit;) seconds += unit == "min" ? number * 60 : number;
  return seconds;
}

struct Figures {
  plot::BarChart memory{.title = "Host memory, papers100M",
                        .summary = "",
                        .value = {.label = "memory", .quantity = plot::Quantity::bytes},
                        .series = {"Plimsoll", "PyG"},
                        .bars = {}};
  plot::BarChart time{.title = "Time of an epoch, papers100M",
                      .summary = "",
                      .value = {.label = "time", .quantity = plot::Quantity::seconds},
                      .series = {"Plimsoll", "PyG"},
                      .bars = {}};
};

Figures read_page(const fs::path& page) {
  Figures figures;
  bool in_setting = false;
  for_each_line(page, [&](std::string_view line) {
    if (line.starts_with("## ")) in_setting = false;
    if (line.starts_with(kSetting)) {
      in_setting = true;
      const std::string setting(line.substr(kSetting.size()));
      figures.memory.bars.push_back({.name = setting, .values = {}});
      figures.time.bars.push_back({.name = setting, .values = {}});
    }
    const std::vector<std::string> cells = cells_of(line);
    if (!in_setting || cells.size() != kCells || cells[0].empty()) return;
    const size_t series = cells[0] == figures.memory.series[0] ? 0 : 1;
    const std::string name = fmt::format("{}, {}", cells[0], cells[1]);
    figures.memory.bars.push_back({name, {std::stod(cells[2]) * kGiB}, series});
    figures.time.bars.push_back({name, {seconds_in(cells[3])}, series});
  });
  return figures;
}

int draw(const fs::path& page, const fs::path& folder, bool check) {
  const Figures figures = read_page(page);
  constexpr plot::SvgOptions kAlone = {.width = 860, .alone = true};
  const std::map<fs::path, std::string> pictures = {
      {folder / "comparison-memory.svg", svg_of(figures.memory, kAlone)},
      {folder / "comparison-time.svg", svg_of(figures.time, kAlone)}};
  int different = 0;
  for (const auto& [file, svg] : pictures) {
    if (!check) {
      io::write_whole(file, svg);
    } else if (read_small_file(file, kMiB) != svg) {
      fmt::print(stderr, "{} is not what {} says: draw it again\n", file.string(), page.string());
      different = 1;
    }
  }
  return different;
}

}  // namespace
}  // namespace plimsoll

int main(int count, char** words) {
  try {
    const std::vector<std::string> given(words + 1, words + count);
    const bool check = given.size() == 3 && given[2] == "--check";
    if (given.size() != 2 && !check) {
      fmt::print(stderr, "usage: comparison_pictures PAGE FOLDER [--check]\n");
      return 2;
    }
    return plimsoll::draw(given[0], given[1], check);
  } catch (const std::exception& error) {
    fmt::print(stderr, "comparison_pictures: {}\n", error.what());
    return 1;
  }
}
