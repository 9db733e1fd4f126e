#include "experiment/batch_request.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/text_file.h"
#include "base/units.h"
#include "experiment/record.h"
#include "experiment/run_folder.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelConfig = "the model config";
constexpr const char* kTheSettings = "the settings";

std::string read_named(const std::string& file, const char* what) {
  if (fs::is_directory(file)) fail(ErrorKind::io, "{} {} is a folder", what, file);
  if (access(file.c_str(), R_OK) != 0) fail_errno("read", fmt::format("{} {}", what, file), errno);
  return read_small_file(file, JsonLimits().bytes);
}

std::string find_catalog(const BatchRequest& request) {
  if (!request.catalog.empty()) return request.catalog;
  std::vector<fs::path> places = {"models_config.json", "config/models_config.json"};
  if (!request.settings.empty()) {
    places.push_back(fs::path(request.settings).parent_path() / "models_config.json");
  }
  for (const fs::path& place : places) {
    if (fs::exists(place)) return place.string();
  }
  // A wrong settings file is the likelier reason, since the model config is looked for beside it.
  if (!request.settings.empty()) read_named(request.settings, kTheSettings);
  fail(ErrorKind::usage, "there is no models_config.json here; give the model config with -c FILE");
}

uint64_t new_seed() {
  std::random_device device;
  return device();
}

}  // namespace

BatchTexts read_texts(const BatchRequest& request) {
  BatchTexts texts{.catalog_file = find_catalog(request),
                   .catalog_text = {},
                   .settings_file = request.settings,
                   .settings_text = {},
                   .words = request.words,
                   .seed = request.seed ? *request.seed : new_seed(),
                   .keys = request.keys,
                   .working_folder = fs::current_path().string(),
                   .max_retries = request.max_retries,
                   .governor = request.governor,
                   .gpus = request.gpus,
                   .jobs = request.jobs,
                   .logs = request.logs};
  texts.catalog_text = read_named(texts.catalog_file, kModelConfig);
  if (!request.settings.empty()) texts.settings_text = read_named(request.settings, kTheSettings);
  return texts;
}

Catalog read_named_catalog(const BatchRequest& request, Problems& problems) {
  const std::string file = find_catalog(request);
  return read_catalog(read_named(file, kModelConfig), file, problems);
}

void report(const Problems& problems, const SayLine& say) {
  for (const auto& group : problems.grouped()) say(describe(group));
  if (problems.notes() > 0) {
    say(fmt::format("notes in the files (they have no effect): {}", problems.notes()));
  }
}

ExperimentBatch planned_batch(const BatchTexts& texts, const SayLine& say) {
  Problems problems(texts.keys);
  ExperimentBatch batch = read_batch(texts, problems);
  check_paths(batch, texts, problems);
  plan_batch(batch, texts, problems);
  report(problems, say);
  if (problems.errors() > 0) {
    fail(ErrorKind::input, "{}; no experiment was started", counted(problems.errors(), "error"));
  }
  return batch;
}

ExperimentBatch journaled_batch(const BatchTexts& texts, const Journal& journal,
                                const fs::path& folder, const SayLine& say) {
  Problems known(texts.keys);
  ExperimentBatch batch = read_batch(texts, known);
  if (known.errors() > 0) {
    report(known, say);
    fail(ErrorKind::input, "the files that {} was started with cannot be used; start a new run",
         folder.string());
  }
  for (const auto& entry : journal.entries()) batch.queue.push_back(experiment_of(entry.plan));
  check_queue(batch);
  complete_queue(batch.queue, batch.catalog);
  return batch;
}

fs::path results_folder(const BatchRequest& request, const ExperimentBatch& batch) {
  return request.results.empty() ? batch.settings.results_folder : request.results;
}

std::optional<fs::path> run_to_continue(const BatchRequest& request) {
  const BatchTexts texts = read_texts(request);
  Problems known(texts.keys);
  const auto newest = newest_run_in(results_folder(request, read_batch(texts, known)));
  if (!newest) return std::nullopt;
  const BatchTexts earlier = source_of(read_run(*newest).settings);
  const bool same =
      earlier.settings_text == texts.settings_text && earlier.catalog_text == texts.catalog_text &&
      earlier.words.repository == texts.words.repository &&
      earlier.words.model == texts.words.model && earlier.words.mutate == texts.words.mutate &&
      earlier.words.runs == texts.words.runs && (!request.seed || earlier.seed == texts.seed);
  return same ? newest : std::nullopt;
}

JobOptions changed_jobs(JobOptions earlier, const JobOptions& wanted) {
  if (wanted.at_once) earlier.at_once = wanted.at_once;
  if (wanted.gpus_per_job) earlier.gpus_per_job = wanted.gpus_per_job;
  if (wanted.memory_bytes) earlier.memory_bytes = wanted.memory_bytes;
  return earlier;
}

}  // namespace plimsoll::experiment
