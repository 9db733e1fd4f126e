// The settings of an entry: drawn, or taken from its grid or its list. And the seeds of its
// repeats. The same seed gives the same settings. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "experiment/history.h"
#include "experiment/settings.h"

namespace plimsoll::experiment {

// The values that a training starts from: defaults and fixed values, before the conditions of the
// parameters are applied.
Values fixed_values(const Training& training, const Repository& repository);

// Whether each repeat of the entry gets its own value of this nuisance, unless the design lists its
// values. Such a value is no part of a setting: the history is not compared by it.
bool gets_own_seeds(const SettingsEntry& entry, const Hyperparameter& parameter);

struct SettingsSource {
  const Settings& settings;
  const Catalog& catalog;
  const std::vector<PastRun>& history;
  uint64_t seed = 0;
  Problems& problems;  // gets a warning if fewer settings are left than asked for
};

class EntrySettings {
 public:
  explicit EntrySettings(const SettingsSource& source) : source_(source) {}

  // Call it once for each entry, in order. Entries that vary the same training draw no combination
  // twice.
  std::vector<Values> of(size_t index);

 private:
  std::vector<Values> made(size_t index);
  // What the entry states, but no experiment gets or does.
  void warn_of_removed(const SettingsEntry& entry, const std::vector<Values>& made) const;
  void warn_of_idle_exclusions(const SettingsEntry& entry) const;
  void warn(const SettingsEntry& entry, std::string text) const {
    source_.problems.warning(source_.settings.file, entry.line, std::move(text));
  }
  std::vector<Values> chosen(const SettingsEntry& entry, size_t index, std::vector<Values> all);
  std::vector<Values> drawn(const SettingsEntry& entry, size_t index);
  // The settings of earlier batches that must not run again.
  std::vector<Values> past(const SettingsEntry& entry) const;

  SettingsSource source_;
  // By repository, model, and whether it has a background load.
  std::map<std::tuple<std::string, std::string, bool>, std::vector<Values>> drawn_;
};

// The seeds of repeats. They are the same for every setting, so that settings are compared under
// the same seeds.
class RepeatSeeds {
 public:
  explicit RepeatSeeds(uint64_t seed) : seed_(seed) {}

  // From the range of the parameter if there is one, otherwise its default and the numbers after
  // it. A value is used again only after all were used once.
  Value of_repeat(const std::string& repository, const Hyperparameter& parameter, uint64_t repeat);

 private:
  struct List {
    std::vector<Value> values;  // by repeat
    std::set<std::pair<double, int64_t>> used;
    uint64_t draws = 0;
  };
  void extend(List& list, const Hyperparameter& parameter) const;

  uint64_t seed_;
  std::map<std::pair<std::string, std::string>, List> lists_;  // by repository and parameter
};

}  // namespace plimsoll::experiment
