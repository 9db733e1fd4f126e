#include "experiment/batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/child.h"
#include "base/json.h"
#include "base/print.h"
#include "base/text_file.h"
#include "base/units.h"
#include "experiment/csv_table.h"
#include "experiment/expected_time.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

fs::path resolved(const fs::path& path, const BatchTexts& texts, const std::string& beside) {
  fs::path here = fs::path(texts.working_folder) / path;
  if (path.is_absolute() || fs::exists(here)) return here;
  fs::path there = fs::path(texts.working_folder) / fs::path(beside).parent_path() / path;
  return fs::exists(there) ? there : here;
}

void check_repository(const Repository& repository, const std::string& file,
                      const BatchTexts& texts, Problems& problems) {
  const fs::path folder = folder_of(repository, texts);
  if (!fs::is_directory(folder)) {
    problems.error(file, repository.line,
                   fmt::format("{}: there is no folder {}", repository.name, folder.string()));
    return;
  }
  if (repository.script.empty()) return;
  const fs::path program = repository.script.front();
  if (program.string().find('/') == std::string::npos) return;  // in PATH; if not, exec reports it
  const fs::path script = (program.is_absolute() ? program : folder / program).lexically_normal();
  if (!fs::exists(script)) {
    problems.error(file, repository.line,
                   fmt::format("{}: there is no {}", repository.name, script.string()));
  } else if (access(script.c_str(), X_OK) != 0) {
    problems.error(file, repository.line,
                   fmt::format("{}: {} is not executable; chmod +x {}", repository.name,
                               script.string(), shell_word(script.string())));
  }
}

// The names that trainings give to their number of epochs.
constexpr std::array<std::string_view, 6> kEpochs = {"epochs",     "epoch",    "num_epochs",
                                                     "max_epochs", "n_epochs", "num_train_epochs"};

// The most epochs of the experiments that `entry` may stop; nothing if that is not known of all.
std::optional<double> most_epochs(const ExperimentBatch& batch, size_t entry) {
  std::optional<double> most;
  for (const Experiment& one : batch.queue) {
    if (one.entry != entry || one.warmup || one.baseline) continue;
    const auto& values = one.training.values.all;
    const auto found = std::ranges::find_if(values, [](const Values::Named& named) {
      return std::ranges::find(kEpochs, named.name) != kEpochs.end() &&
             named.value.type == Value::Type::number;
    });
    if (found == values.end()) return std::nullopt;
    most = std::max(most.value_or(0), found->value.number);
  }
  return most;
}

void warn_of_late_stops(const ExperimentBatch& batch, Problems& problems) {
  for (size_t i = 0; i < batch.settings.entries.size(); ++i) {
    const SettingsEntry& entry = batch.settings.entries[i];
    const Terms terms = merged(batch.catalog.find(entry.foreground.repository)->terms, entry.terms);
    if (!terms.stop || !terms.objective || !terms.stop->known()) continue;
    const auto epochs = most_epochs(batch, i);
    if (!epochs || static_cast<double>(terms.stop->min_steps) < *epochs) continue;
    problems.warning(batch.settings.file, entry.line,
                     fmt::format("stop: min_steps is {}, and no training has more than {} epochs: "
                                 "one that reports {} once per epoch is never stopped; lower "
                                 "min_steps or leave it out",
                                 terms.stop->min_steps, *epochs, terms.objective->metric));
  }
}

// Journals of version 0.1 do not have "strict".
KeyPolicy keys_from(const Json& json) {
  if (json.at("lenient").get<bool>()) return KeyPolicy::lenient;
  return json.value("strict", false) ? KeyPolicy::strict : KeyPolicy::usual;
}

}  // namespace

std::string to_text(const BatchTexts& texts) {
  Json json = {{"catalog_file", texts.catalog_file},
               {"catalog_text", texts.catalog_text},
               {"settings_file", texts.settings_file},
               {"settings_text", texts.settings_text},
               {"repository", texts.words.repository},
               {"model", texts.words.model},
               {"mutate", texts.words.mutate},
               {"runs", texts.words.runs},
               {"seed", texts.seed},
               {"lenient", texts.keys == KeyPolicy::lenient},
               {"strict", texts.keys == KeyPolicy::strict},
               {"working_folder", texts.working_folder},
               {"governor", texts.governor},
               {"gpus", texts.gpus}};
  if (!texts.logs.empty()) json["log"] = texts.logs;
  if (texts.max_retries) json["max_retries"] = *texts.max_retries;
  if (texts.jobs.at_once) json["jobs"] = *texts.jobs.at_once;
  if (texts.jobs.gpus_per_job) json["gpus_per_job"] = *texts.jobs.gpus_per_job;
  if (texts.jobs.memory_bytes) json["memory_bytes"] = *texts.jobs.memory_bytes;
  return json.dump();
}

BatchTexts parse_texts(const std::string& text) {
  // Two files of the usual limit; each character may be escaped as six.
  const JsonLimits limits{.bytes = 2 * 6 * JsonLimits().bytes + kMiB};
  const auto take = [](const Json& json) {
    BatchTexts texts{.catalog_file = json.at("catalog_file"),
                     .catalog_text = json.at("catalog_text"),
                     .settings_file = json.at("settings_file"),
                     .settings_text = json.at("settings_text"),
                     .words = {.repository = json.at("repository"),
                               .model = json.at("model"),
                               .mutate = json.at("mutate"),
                               .runs = whole_in<uint64_t>(json, "runs")},
                     .seed = whole_in<uint64_t>(json, "seed"),
                     .keys = keys_from(json),
                     .working_folder = json.at("working_folder"),
                     .max_retries = {},
                     .governor = json.at("governor"),
                     .gpus = json.at("gpus")};
    texts.logs = json.value("log", "");
    if (json.contains("max_retries")) texts.max_retries = whole_in<unsigned>(json, "max_retries");
    if (json.contains("jobs")) texts.jobs.at_once = whole_in<unsigned>(json, "jobs");
    if (json.contains("gpus_per_job")) {
      texts.jobs.gpus_per_job = whole_in<unsigned>(json, "gpus_per_job");
    }
    if (json.contains("memory_bytes")) {
      texts.jobs.memory_bytes = whole_in<uint64_t>(json, "memory_bytes");
    }
    return texts;
  };
  return from_json<Json>(text, "the journal's settings", take, limits);
}

ExperimentBatch read_batch(const BatchTexts& texts, Problems& problems) {
  ExperimentBatch batch;
  batch.catalog = read_catalog(texts.catalog_text, texts.catalog_file, problems);
  batch.settings =
      texts.settings_file.empty()
          ? settings_of(texts.words, batch.catalog, problems)
          : read_settings(texts.settings_text, texts.settings_file, batch.catalog, problems);
  if (texts.max_retries) batch.settings.max_retries = *texts.max_retries;
  if (!texts.governor.empty()) batch.settings.governor = texts.governor;
  return batch;
}

namespace {

// One line for all of them: a first batch may name hundreds.
void warn_of_missing_tables(const std::vector<fs::path>& missing, const std::string& settings,
                            Problems& problems) {
  if (missing.empty()) return;
  constexpr size_t kTablesNamed = 3;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(missing.size(), kTablesNamed); ++i) {
    names.push_back(missing[i].lexically_normal().string());
  }
  problems.warning(
      settings, 0,
      missing.size() == 1
          ? fmt::format("historical_csvs: there is no {}: no history yet", names.front())
          : fmt::format("historical_csvs: {} tables do not exist: no history yet ({}{})",
                        missing.size(), fmt::join(names, ", "),
                        missing.size() > kTablesNamed ? ", ..." : ""));
}

}  // namespace

void plan_batch(ExperimentBatch& batch, const BatchTexts& texts, Problems& problems) {
  std::vector<PastRun> history;
  std::vector<fs::path> missing;
  if (batch.settings.deduplicate) {
    for (const fs::path& file : history_tables(batch, texts)) {
      std::error_code unknown;
      if (!fs::exists(file, unknown) && !unknown) {
        missing.push_back(file);
        continue;
      }
      try {
        const auto runs =
            read_history(read_small_file(file, kMostTableBytes), file.string(), problems);
        history.insert(history.end(), runs.begin(), runs.end());
      } catch (const Error& error) {
        problems.error(batch.settings.file, 0, fmt::format("historical_csvs: {}", error.what()));
      }
    }
  }
  warn_of_missing_tables(missing, batch.settings.file, problems);
  batch.queue = make_queue(batch.settings, batch.catalog, history, texts.seed, problems);
  warn_of_late_stops(batch, problems);
}

void check_queue(const ExperimentBatch& batch) {
  const auto known = [&](const Load& load) {
    return batch.catalog.find(load.repository) != nullptr;
  };
  for (size_t i = 0; i < batch.queue.size(); ++i) {
    const Experiment& made = batch.queue[i];
    if (made.number == i + 1 && made.entry < batch.settings.entries.size() &&
        known(made.training) && (!made.background || known(*made.background))) {
      continue;
    }
    fail(ErrorKind::input, "the journal's experiment {} does not match its settings", i + 1);
  }
}

std::vector<fs::path> history_tables(const ExperimentBatch& batch, const BatchTexts& texts) {
  std::vector<fs::path> tables;
  for (const std::string& file : batch.settings.history) {
    tables.push_back(resolved(file, texts, texts.settings_file));
  }
  return tables;
}

fs::path folder_of(const Repository& repository, const BatchTexts& texts) {
  return resolved(repository.path, texts, texts.catalog_file);
}

void check_paths(const ExperimentBatch& batch, const BatchTexts& texts, Problems& problems) {
  std::set<std::string> names;
  for (const SettingsEntry& entry : batch.settings.entries) {
    names.insert(entry.foreground.repository);
    if (entry.background) names.insert(entry.background->repository);
  }
  for (const std::string& name : names) {
    check_repository(*batch.catalog.find(name), batch.catalog.file, texts, problems);
  }
}

namespace {

using experiment::BatchTexts;
using experiment::Experiment;
using experiment::ExperimentBatch;
using experiment::Hyperparameter;

std::string command_line(const ExperimentBatch& batch, const BatchTexts& texts,
                         const experiment::Load& load) {
  const auto& repository = *batch.catalog.find(load.repository);
  const auto folder = experiment::folder_of(repository, texts).lexically_normal();
  std::string line = fmt::format("cd {} &&", shell_word(folder.string()));
  for (const auto& word : training_command(repository, load.model, load.values)) {
    line += " " + shell_word(word);
  }
  return line;
}

// "epochs int 10, 5 to 15": type, default and range.
std::string describe(const Hyperparameter& parameter) {
  const char* type = parameter.is_switch                      ? "switch"
                     : parameter.type == Value::Type::boolean ? "bool"
                     : parameter.type == Value::Type::text    ? "text"
                     : parameter.whole                        ? "int"
                                                              : "float";
  std::string line =
      fmt::format("{} {} {}", parameter.name, type,
                  parameter.default_value ? text_of(*parameter.default_value) : "without default");
  for (const Value& value : parameter.choices) {
    line +=
        fmt::format("{} {}", &value == parameter.choices.data() ? ", one of" : ",", text_of(value));
  }
  if (parameter.has_range) {
    line += fmt::format(", {} to {}{}", text_of(parameter.low), text_of(parameter.high),
                        parameter.log_uniform ? " log_uniform" : "");
  }
  if (parameter.zero_probability > 0) {
    line += fmt::format(", 0 with probability {}", parameter.zero_probability);
  }
  return line;
}

// One line for each rule, with the entries that have it if others do not.
std::string describe_stopping(const ExperimentBatch& batch) {
  std::map<std::string, std::vector<std::string>> entries;
  for (const SettingsEntry& entry : batch.settings.entries) {
    const Terms terms = merged(batch.catalog.find(entry.foreground.repository)->terms, entry.terms);
    if (!terms.stop || !terms.objective) continue;
    entries[experiment::describe(*terms.stop, *terms.objective)].push_back(
        fmt::format("{}:{}", batch.settings.file, entry.line));
  }
  std::string text;
  for (const auto& [rule, places] : entries) {
    const bool all = places.size() == batch.settings.entries.size();
    text += fmt::format("  stop  {}{}\n", rule,
                        all ? "" : fmt::format("  ({})", fmt::join(places, ", ")));
  }
  return text;
}

}  // namespace

void print_plan(const ExperimentBatch& batch, const BatchTexts& texts) {
  print("{}{}  seed {}\n", experiment::describe_plan(batch.settings, batch.queue),
        describe_stopping(batch), texts.seed);
}

void print_dry_run(const ExperimentBatch& batch, const BatchTexts& texts,
                   const std::filesystem::path& results) {
  print_plan(batch, texts);
  const experiment::ExpectedTimes expected(
      experiment::earlier_durations(results, history_tables(batch, texts), {}));
  experiment::TimeLeft all;
  for (const Experiment& experiment : batch.queue) {
    const auto seconds = expected.of(experiment);
    all.add(seconds);
    print("{}, expected time {}\n  {}\n  {}\n", experiment.folder,
          seconds ? "about " + format_seconds(*seconds) : "unknown",
          describe(experiment.training.values), command_line(batch, texts, experiment.training));
    if (experiment.background) {
      print("  beside it: {}\n", command_line(batch, texts, *experiment.background));
    }
  }
  all.share_among(texts.jobs.at_once.value_or(1));
  print("expected time of the batch, by medians of earlier runs: {}\n", describe(all));
}

void print_catalog(const experiment::Catalog& catalog) {
  for (const auto& repository : catalog.repositories) {
    print("{}:", repository.name);
    for (const auto& model : repository.models) print(" {}", model);
    print("\n");
    for (const auto& parameter : repository.hyperparameters) {
      print("  {}\n", describe(parameter));
    }
  }
}

}  // namespace plimsoll::experiment
