#include "train/diary.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <string>

#include "base/child.h"
#include "base/error.h"
#include "base/host.h"
#include "base/json.h"
#include "base/run_files.h"
#include "base/text_file.h"
#include "io/partial_file.h"
#include "memory/usage.h"
#include "recipe/recipe.h"

namespace plimsoll::train {
namespace {

using nlohmann::ordered_json;

constexpr std::chrono::milliseconds kSampleEvery{100};
constexpr uint64_t kTicksPerWrite = 5;  // a page shows a change within a second

ordered_json finite(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

// A resumed training is repeated by the command that began it.
void keep_first_command(ordered_json& opening, const std::filesystem::path& file) {
  try {
    const std::string text = read_small_file(file, JsonLimits().bytes);
    const auto before = read_json<ordered_json>(text, file.string());
    for (const char* key : {"command", "working_folder"}) {
      const auto found = before.find(key);
      if (found != before.end() && found->is_string()) opening[key] = *found;
    }
  } catch (const Error&) {
    // There is none, or it is damaged: the command that resumes is known.
  }
}

ordered_json opening_of(const TrainJob& job, const std::string& device) {
  const HostFacts facts = host_facts(Host::real());
  ordered_json parts = ordered_json::array();
  for (const plan::MemoryPart& part : job.plan.parts) {
    parts.push_back({{"name", part.name}, {"bytes", part.bytes}});
  }
  std::error_code ignored;
  ordered_json opening = {
      {"version", 1},
      {"dataset", graph::dataset_name(job.store)},
      {"recipe", recipe::to_json(job.recipe)},
      {"device", device},
      {"started", seconds_since_1970()},
      {"resumed", job.resume},
      {"command", own_command()},
      {"working_folder", std::filesystem::current_path(ignored).string()},
      {"machine",
       {{"host", facts.host},
        {"cpu", facts.cpu},
        {"cpus", facts.cpus},
        {"ram_bytes", facts.ram_bytes},
        {"kernel", facts.kernel}}},
      {"store",
       {{"nodes", job.store.meta().nodes},
        {"edges", job.store.meta().edges},
        {"bytes", job.store.size_bytes()}}},
      {"threads", job.run.threads},
      {"limit_bytes", job.plan.limit_bytes},
      {"planned_memory_bytes", job.plan.peak_bytes},
      {"planned_epoch_seconds",
       job.plan.seconds_an_epoch > 0 ? finite(job.plan.seconds_an_epoch) : ordered_json()},
      {"planned_parts", parts}};
  if (job.resume) keep_first_command(opening, job.save_dir / kDiaryFile);
  return opening;
}

ordered_json gpu_json(const GpuMemoryUse& memory) {
  ordered_json parts = ordered_json::array();
  for (const GpuMemoryUse::Part& part : memory.parts) {
    parts.push_back({{"name", part.name},
                     {"planned_bytes", part.planned_bytes},
                     {"taken_bytes",
                      part.taken_bytes ? ordered_json(*part.taken_bytes) : ordered_json(nullptr)}});
  }
  return {{"name", memory.name},
          {"limit_bytes", memory.limit_bytes},
          {"planned_bytes", memory.planned_bytes},
          {"peak_bytes", memory.peak_bytes},
          {"parts", parts}};
}

ordered_json epoch_json(const EpochResult& result) {
  return {{"epoch", result.epoch},
          {"loss", finite(result.loss)},
          {"valid_acc", finite(result.valid_accuracy)},
          {"test_acc", finite(result.test_accuracy)},
          {"seconds", finite(result.seconds)},
          {"lr", finite(result.lr)}};
}

}  // namespace

// Evaluations come at multiples, too, so some of them stay.
void ThinnedEpochs::add(const EpochResult& result) {
  if (epochs_.size() > 1 && epochs_.back().epoch % every_ != 0) epochs_.pop_back();
  epochs_.push_back(result);
  if (epochs_.size() <= most_) return;
  every_ *= 2;
  std::erase_if(epochs_, [&](const EpochResult& one) {
    return one.epoch % every_ != 0 && one.epoch != result.epoch;
  });
}

Diary::Diary(const TrainJob& job, const std::string& device)
    : job_(job),
      file_(job.save_dir / kDiaryFile),
      opening_(opening_of(job, device)),
      writes_(!job.resume),
      ticker_(kSampleEvery, [this] { tick(); }) {}

void Diary::resume(const std::vector<EpochResult>& series, uint64_t best_epoch) {
  const std::lock_guard lock(mutex_);
  for (const EpochResult& result : series) series_.add(result);
  best_epoch_ = best_epoch;
  writes_ = true;
}

void Diary::gpu_memory(const GpuMemoryUse& memory) {
  const std::lock_guard lock(mutex_);
  gpu_ = gpu_json(memory);
}

void Diary::batch(uint64_t epoch, uint64_t done, uint64_t total, double loss) {
  const std::lock_guard lock(mutex_);
  epoch_ = epoch;
  batch_ = done;
  batches_ = total;
  loss_ = loss;
}

void Diary::epoch(const EpochResult& result, uint64_t best_epoch) {
  const std::lock_guard lock(mutex_);
  series_.add(result);
  best_epoch_ = best_epoch;
}

void Diary::end(Status status) {
  sample();
  {
    const std::lock_guard lock(mutex_);
    status_ = status;
  }
  write();
}

void Diary::sample() {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const std::vector<memory::Ledger::Usage> usage = job_.ledger.usage();
  const uint64_t resident = memory::process_usage().resident_bytes;
  const std::lock_guard lock(mutex_);
  memory_.add(seconds, resident, usage);
}

void Diary::tick() {
  sample();
  if (ticks_++ % kTicksPerWrite == 0) write();
}

ordered_json Diary::to_json() const {
  ordered_json series = ordered_json::array();
  for (const EpochResult& result : series_.epochs()) series.push_back(epoch_json(result));
  ordered_json samples = ordered_json::array();
  for (const memory::TagSample& sample : memory_.samples()) {
    ordered_json row = {std::round(sample.seconds * 10) / 10, sample.resident_bytes};
    for (const uint64_t bytes : sample.tag_bytes) row.push_back(bytes);
    samples.push_back(std::move(row));
  }
  ordered_json json = opening_;
  json.update({{"status", name(status_)},
               {"updated", seconds_since_1970()},
               {"epoch", epoch_},
               {"batch", batch_},
               {"batches", batches_},
               {"loss", batch_ > 0 ? finite(loss_) : ordered_json()},
               {"best_epoch", best_epoch_},
               {"gpu", gpu_},
               {"series", series},
               {"memory", {{"tags", memory_.tags()}, {"samples", samples}}}});
  return json;
}

void Diary::write() {
  const std::lock_guard one_at_a_time(writing_);
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    if (!writes_) return;
    text = to_json().dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  }
  try {
    io::write_whole(file_, text, io::Sync::no);
  } catch (const Error&) {
    // A full disk ends the training where it writes what cannot be made again.
  }
}

}  // namespace plimsoll::train
