// The experiment settings: which trainings to run how often. Both ways of saying it end here, the
// file and the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/catalog.h"
#include "experiment/json_reader.h"
#include "experiment/terms.h"
#include "experiment/values.h"

namespace plimsoll::experiment {

struct Training {
  std::string repository;
  std::string model;
  bool mutation = false;
  std::vector<std::string> mutate;  // names; checked to have ranges
  Values fixed;                     // what the entry sets by itself
};

struct SettingsEntry {
  size_t line = 0;
  Training foreground;
  std::optional<Training> background;  // runs beside it, again and again
  uint64_t runs = 1;
  uint64_t baseline_runs = 0;  // with the defaults, besides
  Terms terms;
  Terms background_terms;  // of the load alone

  uint64_t experiments() const { return runs + baseline_runs; }
};

struct Settings {
  std::string file;  // "the command line" where there is none
  std::string name;
  std::string governor;  // empty: left as it is
  unsigned max_retries = 2;
  bool deduplicate = false;
  std::vector<std::string> history;  // files
  std::string results_folder = "results";
  std::vector<SettingsEntry> entries;
};

// Entries with something wrong are reported and left out.
Settings read_settings(std::string_view text, const std::string& file, const Catalog& catalog,
                       Problems& problems);

struct CommandLine {
  std::string repository;
  std::string model;
  std::string mutate = "all";  // "a,b" or "all"
  uint64_t runs = 1;
};
Settings settings_of(const CommandLine& words, const Catalog& catalog, Problems& problems);

// Each entry with its number of experiments, and the total.
std::string describe_plan(const Settings& settings);

}  // namespace plimsoll::experiment
