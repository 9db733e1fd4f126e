// The experiment settings: which trainings to run, and how often. They come from a settings file or
// from the command line.
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
  std::vector<std::string> mutate;  // parameters to draw; checked to have ranges or choices
  Values fixed;                     // values that the entry sets
  Design design;
};

struct SettingsEntry {
  size_t line = 0;
  Training foreground;
  std::optional<Training> background;  // runs beside it, restarted whenever it ends
  // The number of settings of a mutation, or of runs of a default. Nothing: all settings of a grid
  // or a list.
  std::optional<uint64_t> runs = 1;
  uint64_t repeats = 1;        // of each setting
  bool other_seeds = false;    // each repeat has another seed; false in the old style
  uint64_t baseline_runs = 0;  // additional runs with the defaults
  Terms terms;
  Terms background_terms;  // of the background load only
};

// The order in which the experiments run.
enum class Order {
  as_listed,
  random,
  blocked,  // all settings once, then all again, ...; at random within each block
};
std::string_view name(Order order);

// A pause before each attempt but the first.
struct Cooldown {
  bool automatic = false;  // until the GPUs are as cool and idle as when the batch began
  double seconds = 0;
};

struct Settings {
  std::string file;  // "the command line" without a file
  std::string name;
  std::string governor;  // empty: unchanged
  unsigned max_retries = 2;
  bool deduplicate = false;
  Order order = Order::as_listed;
  uint64_t warmup = 0;  // runs before the first experiment that do not count
  Cooldown cooldown;
  std::vector<std::string> history;  // files
  std::string results_folder = "results";
  std::vector<SettingsEntry> entries;
};

// Entries with errors are reported and left out.
Settings read_settings(std::string_view text, const std::string& file, const Catalog& catalog,
                       Problems& problems);

struct CommandLine {
  std::string repository;
  std::string model;
  std::string mutate = "all";  // "a,b" or "all"
  uint64_t runs = 1;
};
Settings settings_of(const CommandLine& words, const Catalog& catalog, Problems& problems);

}  // namespace plimsoll::experiment
