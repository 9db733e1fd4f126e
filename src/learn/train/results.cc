#include "train/results.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/host.h"
#include "base/json.h"
#include "base/run_files.h"
#include "base/text_file.h"
#include "io/partial_file.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

ordered_json number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

ordered_json to_json(const EpochResult& result) {
  return {{"epoch", result.epoch},
          {"loss", number(result.loss)},
          {"valid_acc", number(result.valid_accuracy)},
          {"test_acc", number(result.test_accuracy)},
          {"seconds", number(result.seconds)},
          {"lr", number(result.lr)}};
}

ordered_json to_json(const RankFigures& figures) {
  return {{"rank", figures.rank},
          {"host", figures.host},
          {"device", figures.device},
          {"batches_per_second", number(figures.batches_per_second)},
          {"adding_up_milliseconds", number(figures.adding_up_ms)},
          {"peak_memory_bytes", figures.peak_memory_bytes},
          {"shared_bytes", figures.shared_bytes},
          {"reads", figures.reads},
          {"read_bytes", figures.read_bytes}};
}

}  // namespace

std::string to_text(const RankFigures& figures) { return to_json(figures).dump(); }

RankFigures parse_figures(const std::string& text) {
  using Json = nlohmann::json;
  return from_json<Json>(text, "the figures of a rank", [](const Json& json) {
    const auto real = [&](const char* key) {
      return json.at(key).is_null() ? 0.0 : json.at(key).get<double>();
    };
    return RankFigures{.rank = whole_in<unsigned>(json, "rank"),
                       .host = json.at("host"),
                       .device = json.at("device"),
                       .batches_per_second = real("batches_per_second"),
                       .adding_up_ms = real("adding_up_milliseconds"),
                       .peak_memory_bytes = whole_in<uint64_t>(json, "peak_memory_bytes"),
                       .shared_bytes = whole_in<uint64_t>(json, "shared_bytes"),
                       .reads = whole_in<uint64_t>(json, "reads"),
                       .read_bytes = whole_in<uint64_t>(json, "read_bytes")};
  });
}

namespace {

ordered_json stages_json(const StageMilliseconds& stages) {
  return {{"sample", number(stages.sample)},   {"gather", number(stages.gather)},
          {"forward", number(stages.forward)}, {"backward", number(stages.backward)},
          {"step", number(stages.step)},       {"waiting", number(stages.waiting)}};
}

ordered_json disk_json(const batch::ReadCounts& reads) {
  const bool rows_unknown = reads.rows == 0 && reads.rows_on_disk > 0;
  return {{"method", reads.method},
          {"reads", reads.reads},
          {"bytes", reads.bytes},
          {"seconds", number(reads.seconds)},
          {"rows", rows_unknown ? ordered_json(nullptr) : ordered_json(reads.rows)},
          {"rows_on_disk", reads.rows_on_disk},
          {"windows", reads.windows},
          {"window_batches", reads.window_batches}};
}

// Everything but the series.
ordered_json head_json(const Results& results) {
  const recipe::Recipe& recipe = results.recipe;
  ordered_json ranks = ordered_json::array();
  for (const RankFigures& figures : results.ranks) ranks.push_back(to_json(figures));
  const GpuMemoryUse gpu = results.gpu.value_or(GpuMemoryUse{});
  return {
      {"dataset", results.dataset},
      {"model", name(recipe.model)},
      {"hidden_dim", recipe.hidden},
      {"num_params", results.parameters},
      {"best_epoch", results.best_epoch},
      {"train_acc", number(results.train_accuracy)},
      {"valid_acc", number(results.valid_accuracy)},
      {"test_acc", number(results.test_accuracy)},
      {"training_time", number(results.training_seconds)},
      {"epochs", recipe.epochs},
      {"lr", recipe.lr},
      {"dropout", recipe.dropout},
      {"weight_decay", recipe.weight_decay},
      {"batch_size", recipe.batch_size},
      {"num_neighbors", recipe::to_json(recipe.fanout)},
      {"timestamp", results.timestamp},
      {"seed", recipe.seed},
      {"status", name(results.status)},
      {"epochs_run", results.series.size()},
      {"device", results.device},
      {"batches_run", results.batches_run},
      {"batches_per_second", number(results.batches_per_second)},
      {"stage_milliseconds", stages_json(results.stages)},
      {"peak_memory_bytes", results.peak_memory_bytes},
      {"planned_memory_bytes", results.planned_memory_bytes},
      {"peak_gpu_bytes", gpu.peak_bytes},
      {"planned_gpu_bytes", gpu.planned_bytes},
      {"gpu_limit_bytes", gpu.limit_bytes},
      {"unattributed_bytes", results.unattributed_bytes},
      {"planned_epoch_seconds",
       results.planned_epoch_seconds > 0 ? number(results.planned_epoch_seconds) : ordered_json()},
      {"arrangement",
       {{"workers", results.arrangement.workers},
        {"computing", results.arrangement.computing},
        {"window", results.arrangement.window},
        {"window_bytes", results.arrangement.window_bytes},
        {"ahead", results.arrangement.ahead},
        {"held", results.arrangement.held}}},
      {"disk", disk_json(results.reads)},
      {"store_checksum", results.store_checksum},
      {"ranks", ranks},
      {"recipe", recipe::to_json(recipe)}};
}

constexpr int kIndent = 2;
constexpr uint64_t kHeadTextBytes = 64 * 1024;
constexpr uint64_t kEpochResultTextBytes = 320;  // six lines with a key and a number, two braces

std::string dump(const ordered_json& json) {
  return json.dump(kIndent, ' ', false, ordered_json::error_handler_t::replace);
}

// The lines of an epoch, as deep as they are in the file.
void append_epoch(std::string& text, const EpochResult& result) {
  text += "\n    ";
  for (const char letter : dump(to_json(result))) {
    text += letter;
    if (letter == '\n') text += "    ";
  }
}

}  // namespace

uint64_t text_bytes(const Results& results) {
  return kHeadTextBytes + results.series.size() * kEpochResultTextBytes;
}

// The series is added epoch by epoch: as one JSON value it would take ten times its text.
std::string to_text(const Results& results) {
  std::string text;
  text.reserve(text_bytes(results));
  text += dump(head_json(results));
  text.resize(text.size() - std::string_view("\n}").size());
  text += ",\n  \"series\": [";
  for (size_t i = 0; i < results.series.size(); ++i) {
    if (i > 0) text += ',';
    append_epoch(text, results.series[i]);
  }
  text += results.series.empty() ? "]\n}\n" : "\n  ]\n}\n";
  return text;
}

void write_memory_log(const fs::path& file, std::span<const memory::MemorySample> samples,
                      const plan::Plan& plan) {
  std::string text = "seconds,ledger_bytes,resident_bytes,planned_bytes,limit_bytes\n";
  for (const memory::MemorySample& sample : samples) {
    text += fmt::format("{:.1f},{},{},{},{}\n", sample.seconds, sample.ledger_bytes,
                        sample.resident_bytes, plan.peak_bytes, plan.limit_bytes);
  }
  io::write_whole(file, text);
}

void write_results(const fs::path& save_dir, const Results& results, memory::Ledger& ledger) {
  const memory::Lease lease = ledger.lease("results", text_bytes(results));
  io::write_whole(save_dir / kResultsFile, to_text(results));
}

bool has_results(const fs::path& save_dir, uint64_t epochs, uint64_t best_epoch) {
  const fs::path file = save_dir / kResultsFile;
  nlohmann::json json;
  try {
    json =
        read_json(read_small_file(file, JsonLimits().bytes), file.string(), {.without = "series"});
  } catch (const Error&) {
    return false;
  }
  if (!json.is_object()) return false;
  const auto is = [&](const char* key, const nlohmann::json& value) {
    return json.value(key, nlohmann::json()) == value;
  };
  const bool ended =
      is("status", name(Status::finished)) || is("status", name(Status::early_stopped));
  return ended && is("epochs_run", epochs) && is("best_epoch", best_epoch);
}

std::string timestamp(std::chrono::system_clock::time_point when) {
  const std::tm local = local_time(std::chrono::duration<double>(when.time_since_epoch()).count());
  const int64_t minutes_east = local.tm_gmtoff / 60;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}{}{:02}:{:02}", local, minutes_east < 0 ? '-' : '+',
                     std::abs(minutes_east) / 60, std::abs(minutes_east) % 60);
}

}  // namespace plimsoll::train
