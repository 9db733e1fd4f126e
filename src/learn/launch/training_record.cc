#include "launch/training_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text_file.h"

namespace plimsoll::launch {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kResultsFile = "results.json";
constexpr const char* kCheckpointFile = "last.pth";
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
          .seconds = number_at(json, "seconds")};
}

bool is_one_training(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kResultsFile, ignored) ||
         fs::exists(folder / kCheckpointFile, ignored);
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
  for (auto& [seed, path] : seeds) folders.push_back(std::move(path));
  return folders;
}

bool has_only_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  return !fs::exists(folder / kResultsFile, ignored) &&
         fs::exists(folder / kCheckpointFile, ignored);
}

bool is_training_now(const fs::path& folder) {
  const Fd lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

TrainingRecord read_training(const fs::path& folder) {
  const fs::path file = folder / kResultsFile;
  const std::string text = read_small_file(file, JsonLimits().bytes);
  return from_json<Json>(text, file.string(), [&](const Json& json) {
    TrainingRecord record{.folder = folder,
                          .dataset = json.at("dataset"),
                          .status = json.at("status"),
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
    return record;
  });
}

}  // namespace plimsoll::launch
