#include "launch/training_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <string_view>

#include "base/child.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/run_files.h"
#include "base/text_file.h"
#include "base/units.h"

namespace plimsoll::launch {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kSeedPrefix = "seed_";

std::optional<double> number_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

EpochRecord epoch_from(const Json& json) {
  return {.epoch = whole_in<uint64_t>(json, "epoch"),
          .loss = number_at(json, "loss"),
          .valid_accuracy = number_at(json, "valid_acc"),
          .test_accuracy = number_at(json, "test_acc"),
          .seconds = number_at(json, "seconds"),
          .lr = number_at(json, "lr")};
}

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

uint64_t whole_at(const Json& json, const char* key) {
  return json.contains(key) ? whole_in<uint64_t>(json, key) : 0;
}

std::optional<uint64_t> count_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  return whole_in<uint64_t>(json, key);
}

void take_stages(const Json& json, TrainingRecord& record) {
  const auto found = json.find("stage_milliseconds");
  if (found == json.end() || !found->is_object()) return;
  const auto of = [&](const char* key) { return number_at(*found, key); };
  record.stages = {of("sample"),   of("gather"), of("forward"),
                   of("backward"), of("step"),   of("waiting").value_or(0)};
}

// What was not in results.json from the beginning.
void take_newer(const Json& json, TrainingRecord& record) {
  record.planned_memory_bytes = whole_at(json, "planned_memory_bytes");
  record.planned_epoch_seconds = number_at(json, "planned_epoch_seconds");
  record.batches_per_second = number_at(json, "batches_per_second");
  record.batches_run = whole_at(json, "batches_run");
  record.store_checksum = text_at(json, "store_checksum");
  take_stages(json, record);
  if (const auto found = json.find("arrangement"); found != json.end() && found->is_object()) {
    record.workers = whole_at(*found, "workers");
  }
  if (const auto found = json.find("disk"); found != json.end() && found->is_object()) {
    record.disk = {.method = text_at(*found, "method"),
                   .reads = whole_at(*found, "reads"),
                   .bytes = whole_at(*found, "bytes"),
                   .rows = count_at(*found, "rows"),
                   .rows_on_disk = whole_at(*found, "rows_on_disk"),
                   .seconds = number_at(*found, "seconds")};
  }
  if (const auto found = json.find("ranks"); found != json.end() && found->is_array()) {
    for (const Json& rank : *found) {
      record.ranks.push_back({whole_at(rank, "rank"), text_at(rank, "host"),
                              text_at(rank, "device"), whole_at(rank, "peak_memory_bytes")});
    }
  }
}

uint64_t byte_count(const Json& json) {
  if (!json.is_number_unsigned()) {
    fail(ErrorKind::input, "{} is not a number of bytes", json.dump());
  }
  return json.get<uint64_t>();
}

std::optional<GpuRecord> gpu_from(const Json& json) {
  const auto found = json.find("gpu");
  if (found == json.end() || !found->is_object()) return std::nullopt;
  GpuRecord gpu{.name = text_at(*found, "name"),
                .limit_bytes = whole_at(*found, "limit_bytes"),
                .planned_bytes = whole_at(*found, "planned_bytes"),
                .peak_bytes = whole_at(*found, "peak_bytes"),
                .parts = {}};
  for (const Json& part : found->at("parts")) {
    gpu.parts.push_back({.name = part.at("name"),
                         .planned_bytes = whole_in<uint64_t>(part, "planned_bytes"),
                         .taken_bytes = count_at(part, "taken_bytes")});
  }
  return gpu;
}

// Every sample is filled up to all tags: together they may be many more values than the text has.
DiaryMemory memory_from(const Json& json) {
  DiaryMemory memory;
  memory.tags = json.at("tags").get<std::vector<std::string>>();
  const Json& samples = json.at("samples");
  if (memory.tags.size() * samples.size() > JsonLimits().values) {
    fail(ErrorKind::input, "{} samples of {} tags are too many", samples.size(),
         memory.tags.size());
  }
  for (const Json& row : samples) {
    DiaryMemory::Sample sample{
        .seconds = row.at(0), .resident_bytes = byte_count(row.at(1)), .tag_bytes = {}};
    for (size_t i = 2; i < row.size() && i - 2 < memory.tags.size(); ++i) {
      sample.tag_bytes.push_back(byte_count(row[i]));
    }
    sample.tag_bytes.resize(memory.tags.size());
    memory.samples.push_back(std::move(sample));
  }
  return memory;
}

// The best epoch as results.json would have it.
void take_best(TrainingRecord& record) {
  for (const EpochRecord& epoch : record.series) {
    if (epoch.epoch != record.best_epoch) continue;
    record.valid_accuracy = epoch.valid_accuracy;
    record.test_accuracy = epoch.test_accuracy;
  }
}

recipe::TrainingStatus status_in(const Json& json) {
  return recipe::status_named(json.at("status").get_ref<const std::string&>());
}

TrainingRecord so_far(const Json& json, const fs::path& folder) {
  TrainingRecord record;
  record.folder = folder;
  record.dataset = json.at("dataset");
  record.status = status_in(json);
  record.device = text_at(json, "device");
  record.recipe = recipe::from_json(json.at("recipe"), "recipe");
  record.best_epoch = whole_at(json, "best_epoch");
  record.planned_memory_bytes = whole_at(json, "planned_memory_bytes");
  record.planned_epoch_seconds = number_at(json, "planned_epoch_seconds");
  double seconds = 0;
  for (const Json& epoch : json.at("series")) {
    record.series.push_back(epoch_from(epoch));
    seconds += record.series.back().seconds.value_or(0);
  }
  if (!record.series.empty()) record.seconds = seconds;
  take_best(record);
  return record;
}

TrainingDiary diary_from(const Json& json, const fs::path& folder) {
  const Json& machine = json.at("machine");
  const Json& store = json.at("store");
  TrainingDiary diary{.status = status_in(json),
                      .started = json.at("started"),
                      .updated = json.at("updated"),
                      .resumed = json.at("resumed"),
                      .command = text_at(json, "command"),
                      .working_folder = text_at(json, "working_folder"),
                      .host = text_at(machine, "host"),
                      .cpu = text_at(machine, "cpu"),
                      .cpus = whole_at(machine, "cpus"),
                      .ram_bytes = whole_at(machine, "ram_bytes"),
                      .kernel = text_at(machine, "kernel"),
                      .threads = whole_at(json, "threads"),
                      .limit_bytes = whole_at(json, "limit_bytes"),
                      .store_nodes = whole_at(store, "nodes"),
                      .store_edges = whole_at(store, "edges"),
                      .store_bytes = whole_at(store, "bytes"),
                      .planned_parts = {},
                      .epoch = whole_at(json, "epoch"),
                      .batch = whole_at(json, "batch"),
                      .batches = whole_at(json, "batches"),
                      .loss = number_at(json, "loss"),
                      .memory = memory_from(json.at("memory")),
                      .gpu = gpu_from(json),
                      .so_far = so_far(json, folder)};
  for (const Json& part : json.at("planned_parts")) {
    diary.planned_parts.push_back({part.at("name"), whole_in<uint64_t>(part, "bytes")});
  }
  for (const DiaryMemory::Sample& sample : diary.memory.samples) {
    diary.so_far.peak_memory_bytes =
        std::max(diary.so_far.peak_memory_bytes, sample.resident_bytes);
  }
  return diary;
}

std::string plain_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Older versions did not write the checksum of the store.
bool same_data(const TrainingRecord& a, const TrainingRecord& b) {
  if (a.store_checksum.empty() || b.store_checksum.empty()) return a.dataset == b.dataset;
  return a.store_checksum == b.store_checksum;
}

bool is_one_training(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kResultsFile, ignored) ||
         fs::exists(folder / kLastCheckpoint, ignored);
}

}  // namespace

fs::path seed_folder(const fs::path& folder, uint64_t seed) {
  return folder / fmt::format("{}{}", kSeedPrefix, seed);
}

std::vector<fs::path> training_folders(const fs::path& folder) {
  if (is_one_training(folder)) return {folder};
  std::map<uint64_t, fs::path> seeds;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kSeedPrefix) || !is_one_training(entry.path())) continue;
    uint64_t seed = 0;
    const auto [end, error] =
        std::from_chars(name.data() + kSeedPrefix.size(), name.data() + name.size(), seed);
    if (error == std::errc() && end == name.data() + name.size()) seeds[seed] = entry.path();
  }
  std::vector<fs::path> folders;
  folders.reserve(seeds.size());
  for (auto& [seed, path] : seeds) folders.push_back(std::move(path));
  return folders;
}

bool has_only_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  return !fs::exists(folder / kResultsFile, ignored) &&
         fs::exists(folder / kLastCheckpoint, ignored);
}

bool is_training_now(const fs::path& folder) {
  const Fd lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

TrainingRecord parse_training(std::string_view text, const fs::path& folder) {
  const fs::path file = folder / kResultsFile;
  return from_json<Json>(text, file.string(), [&](const Json& json) {
    TrainingRecord record{.folder = folder,
                          .dataset = json.at("dataset"),
                          .status = status_in(json),
                          .device = json.at("device"),
                          .timestamp = json.at("timestamp"),
                          .recipe = recipe::from_json(json.at("recipe"), "recipe"),
                          .parameters = whole_in<uint64_t>(json, "num_params"),
                          .best_epoch = whole_in<uint64_t>(json, "best_epoch"),
                          .train_accuracy = number_at(json, "train_acc"),
                          .valid_accuracy = number_at(json, "valid_acc"),
                          .test_accuracy = number_at(json, "test_acc"),
                          .seconds = number_at(json, "training_time"),
                          .peak_memory_bytes = whole_in<uint64_t>(json, "peak_memory_bytes"),
                          .series = {}};
    for (const Json& epoch : json.at("series")) record.series.push_back(epoch_from(epoch));
    take_newer(json, record);
    return record;
  });
}

TrainingRecord read_training(const fs::path& folder) {
  return parse_training(read_small_file(folder / kResultsFile, JsonLimits().bytes), folder);
}

std::optional<TrainingRecord> find_training(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder / kResultsFile, ignored)) {
    try {
      return read_training(folder);
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  const auto diary = read_diary(folder);
  return diary ? std::optional(diary->so_far) : std::nullopt;
}

std::vector<TrainingRecord> read_trainings(const fs::path& folder) {
  std::vector<TrainingRecord> trainings;
  const auto folders = training_folders(folder);
  for (const fs::path& one : folders) {
    if (!has_only_checkpoint(one)) trainings.push_back(read_training(one));
  }
  if (!trainings.empty()) return trainings;
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) {
    fail(ErrorKind::io, "there is no folder {}; give the --save-dir of a training",
         folder.string());
  }
  if (fs::exists(folder / kJournalFile, ignored)) {
    fail(ErrorKind::io,
         "{} is a batch, not a training; plimsoll results {} --compare 1 2 compares two of its "
         "configurations",
         folder.string(), shell_word(folder.string()));
  }
  fail(ErrorKind::io, "{} has no results.json{}", folder.string(),
       folders.empty() ? ": it is no training; give the --save-dir of one"
                       : ": its training runs or was interrupted; see plimsoll status");
}

std::vector<TrainingRecord> ended_of(const std::vector<TrainingRecord>& trainings) {
  std::vector<TrainingRecord> ended;
  for (const TrainingRecord& one : trainings) {
    using recipe::TrainingStatus;
    if (one.status == TrainingStatus::finished || one.status == TrainingStatus::early_stopped) {
      ended.push_back(one);
    }
  }
  return ended;
}

std::vector<RecipeDifference> differences_between(const TrainingRecord& a,
                                                  const TrainingRecord& b) {
  std::vector<RecipeDifference> found;
  if (!same_data(a, b)) {
    const bool named = a.dataset != b.dataset;
    found.push_back({"data set", named ? a.dataset : "checksum " + a.store_checksum,
                     named ? b.dataset : "checksum " + b.store_checksum});
  }
  const Json one = recipe::to_json(a.recipe);
  const Json other = recipe::to_json(b.recipe);
  for (const auto& [field, value] : one.items()) {
    if (field == "seed" || value == other.at(field)) continue;
    found.push_back({field, plain_text(value), plain_text(other.at(field))});
  }
  return found;
}

std::string describe(const std::vector<RecipeDifference>& differences) {
  std::string text;
  for (const auto& [field, a, b] : differences) {
    text += fmt::format("{}{} {} instead of {}", text.empty() ? "" : ", ", field, a, b);
  }
  return text;
}

std::vector<std::vector<TrainingRecord>> by_recipe(const std::vector<TrainingRecord>& trainings) {
  std::vector<std::vector<TrainingRecord>> groups;
  for (const TrainingRecord& one : trainings) {
    const auto found = std::ranges::find_if(
        groups, [&](const auto& group) { return differences_between(group.front(), one).empty(); });
    if (found == groups.end()) {
      groups.push_back({one});
    } else {
      found->push_back(one);
    }
  }
  return groups;
}

std::vector<TrainingFigure> figures_of(const std::vector<TrainingRecord>& trainings) {
  std::vector<TrainingFigure> figures = {{"valid accuracy", {}},
                                         {"test accuracy", {}},
                                         {"time (s)", {}},
                                         {"time per epoch (s)", {}},
                                         {"peak memory (MiB)", {}}};
  const auto add = [&](size_t figure, const std::optional<double>& value) {
    if (value) figures[figure].values.push_back(*value);
  };
  for (const TrainingRecord& one : trainings) {
    add(0, one.valid_accuracy);
    add(1, one.test_accuracy);
    add(2, one.seconds);
    double seconds = 0;
    for (const auto& epoch : one.series) seconds += epoch.seconds.value_or(0);
    if (!one.series.empty()) add(3, seconds / static_cast<double>(one.series.size()));
    add(4, static_cast<double>(one.peak_memory_bytes) / kMiB);
  }
  return figures;
}

TrainingDiary parse_diary(std::string_view text, const fs::path& folder) {
  const fs::path file = folder / kDiaryFile;
  return from_json<Json>(text, file.string(),
                         [&](const Json& json) { return diary_from(json, folder); });
}

std::optional<TrainingDiary> read_diary(const fs::path& folder) {
  const fs::path file = folder / kDiaryFile;
  std::error_code missing;
  if (!fs::exists(file, missing)) return std::nullopt;
  try {
    return parse_diary(read_small_file(file, JsonLimits().bytes), folder);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace plimsoll::launch
