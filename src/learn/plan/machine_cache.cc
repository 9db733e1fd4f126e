#include "plan/machine_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/text_file.h"
#include "io/file.h"
#include "io/partial_file.h"
#include "plan/measuring.h"

namespace plimsoll::plan {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t kVersion = 6;           // of the file, and of how the figures are measured
constexpr size_t kMostBytes = 256 * 1024;  // of the file: hundreds of machines
// A file below this may come from caches of the disk and says nothing of a large one.
constexpr uint64_t kSmallFileBytes = uint64_t{1} << 30;

// The entries by key; empty where the file is of no use.
json load_entries(const fs::path& cache_file) {
  try {
    const json root = read_json(read_small_file(cache_file, kMostBytes), cache_file.string());
    if (!root.is_object() || root.value("version", json()) != kVersion) return json::object();
    json entries = root.value("machines", json::object());
    return entries.is_object() ? entries : json::object();
  } catch (const Error&) {
    return json::object();  // what it held is measured again
  }
}

bool read(const json& entry, const char* key, double& out) {
  const auto value = entry.find(key);
  if (value == entry.end() || !value->is_number()) return false;
  out = value->get<double>();
  return std::isfinite(out) && out >= 0;
}

template <typename Whole>
bool read_whole(const json& entry, const char* key, Whole& out) {
  const auto value = entry.find(key);
  if (value == entry.end() || !value->is_number_unsigned()) return false;
  out = value->get<Whole>();
  return value->get<uint64_t>() == out;
}

bool read(const json& entry, const char* key, std::string& out) {
  const auto value = entry.find(key);
  if (value == entry.end() || !value->is_string()) return false;
  out = value->get<std::string>();
  return true;
}

// The fields of a part of a machine, for reading and for writing.
template <typename Rates>
auto making_fields(Rates& making) {
  return std::array{std::pair("batch_seconds", &making.batch_seconds),
                    std::pair("edge_seconds", &making.edge_seconds),
                    std::pair("row_seconds", &making.row_seconds),
                    std::pair("copy_seconds", &making.copy_seconds),
                    std::pair("sort_seconds", &making.sort_seconds)};
}

template <typename Rates>
auto step_fields(Rates& step) {
  return std::array{
      std::pair("narrow_flops", &step.narrow_flops), std::pair("wide_flops", &step.wide_flops),
      std::pair("activations", &step.activations),   std::pair("sums", &step.sums),
      std::pair("attention", &step.attention),       std::pair("losses", &step.losses),
      std::pair("parameters", &step.parameters),     std::pair("copied_bytes", &step.copied_bytes),
      std::pair("product_gain", &step.product_gain), std::pair("pass_gain", &step.pass_gain)};
}

template <typename Rates>
auto gpu_fields(Rates& rates) {
  return std::array{std::pair("gpu_start_seconds", &rates.start_seconds),
                    std::pair("gpu_pass_bytes", &rates.pass_bytes),
                    std::pair("gpu_row_bytes", &rates.row_bytes),
                    std::pair("gpu_far_bytes", &rates.far_bytes),
                    std::pair("gpu_narrow_flops", &rates.narrow_flops),
                    std::pair("gpu_wide_flops", &rates.wide_flops)};
}

constexpr std::array kModels = {recipe::ModelKind::gcn, recipe::ModelKind::sage,
                                recipe::ModelKind::gat, recipe::ModelKind::mlp};

json making_json(const MakingRates& making) {
  json object;
  for (const auto& [name, value] : making_fields(making)) object[name] = *value;
  return object;
}

bool read_making(const json& entry, MakingRates& making) {
  const json object = entry.value("making", json());
  const auto fields = making_fields(making);
  return object.is_object() && std::all_of(fields.begin(), fields.end(), [&](const auto& field) {
           return read(object, field.first, *field.second);
         });
}

// Null where steps were not measured.
json step_json(const StepRates& step) {
  if (!step.known()) return nullptr;
  json object = {
      {"device", step.device}, {"threads", step.threads}, {"loaded_bytes", step.library_bytes}};
  for (const auto& [name, value] : step_fields(step)) object[name] = *value;
  for (const auto& [name, value] : gpu_fields(step.on_gpu)) object[name] = *value;
  for (const recipe::ModelKind kind : kModels) {
    object[std::string(recipe::name(kind))] = {
        {"base", step.of(kind).base},
        {"layer", step.of(kind).layer},
        {"more", step.slowdown.at(static_cast<size_t>(kind))}};
  }
  return object;
}

bool read_step(const json& entry, StepRates& step) {
  const json object = entry.value("step", json());
  if (object.is_null()) return true;
  const auto fields = step_fields(step);
  const bool rates = object.is_object() && read(object, "device", step.device) &&
                     read_whole(object, "threads", step.threads) &&
                     read_whole(object, "loaded_bytes", step.library_bytes) &&
                     std::all_of(fields.begin(), fields.end(), [&](const auto& field) {
                       return read(object, field.first, *field.second);
                     });
  const auto gpu = gpu_fields(step.on_gpu);
  const bool gpu_rates = rates && std::all_of(gpu.begin(), gpu.end(), [&](const auto& field) {
                           return read(object, field.first, *field.second);
                         });
  return gpu_rates && std::all_of(kModels.begin(), kModels.end(), [&](recipe::ModelKind kind) {
           const json fixed = object.value(std::string(recipe::name(kind)), json());
           StepRates::Fixed& to = step.fixed.at(static_cast<size_t>(kind));
           return fixed.is_object() && read(fixed, "base", to.base) &&
                  read(fixed, "more", step.slowdown.at(static_cast<size_t>(kind))) &&
                  read(fixed, "layer", to.layer);
         });
}

// Whether measuring again would find fewer others.
bool is_quiet_now(const Host& host) {
  const OtherLoad others(host);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return !spoils(others.cores(), std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

fs::path machine_cache_file(const Host& host) {
  const fs::path folder = user_folder(host, "XDG_CACHE_HOME", ".cache");
  return folder.empty() ? folder : folder / "machine.json";
}

std::string machine_key(const fs::path& file, unsigned threads, const std::string& device,
                        const Host& host) {
  std::string disk = "no disk";
  if (!file.empty()) {
    const dev_t number = io::disk_of(file).device;
    std::error_code unknown;
    const uint64_t bytes = fs::file_size(file, unknown);
    const bool small = !unknown && bytes < kSmallFileBytes;
    disk = fmt::format("{}disk {}:{}", small ? "small file on " : "", major(number), minor(number));
  }
  const std::string cpu = cpu_name(host);
  return fmt::format("{}, {} threads, {}, {}", cpu.empty() ? "some CPU" : cpu, threads, disk,
                     device);
}

std::optional<Machine> load_machine(const fs::path& cache_file, const std::string& key) {
  const json entries = load_entries(cache_file);
  const auto entry = entries.find(key);
  if (entry == entries.end() || !entry->is_object()) return {};
  Machine machine;
  const bool whole = read(*entry, "reads_per_second", machine.reads_per_second) &&
                     read(*entry, "most_reads_per_second", machine.most_reads_per_second) &&
                     read(*entry, "read_seconds", machine.read_seconds) &&
                     read_whole(*entry, "read_bytes", machine.read_bytes) &&
                     read(*entry, "read_bytes_per_second", machine.read_bytes_per_second) &&
                     read(*entry, "read_method", machine.read_method) &&
                     read_whole(*entry, "threads", machine.threads) &&
                     read(*entry, "other_load", machine.other_load) &&
                     read_making(*entry, machine.making) && read_step(*entry, machine.step);
  return whole ? std::optional(machine) : std::nullopt;
}

bool save_machine(const fs::path& cache_file, const std::string& key, const Machine& machine) {
  if (cache_file.empty()) return false;
  json entries = load_entries(cache_file);
  entries[key] = {{"reads_per_second", machine.reads_per_second},
                  {"most_reads_per_second", machine.most_reads_per_second},
                  {"read_seconds", machine.read_seconds},
                  {"read_bytes", machine.read_bytes},
                  {"read_bytes_per_second", machine.read_bytes_per_second},
                  {"read_method", machine.read_method},
                  {"making", making_json(machine.making)},
                  {"step", step_json(machine.step)},
                  {"threads", machine.threads},
                  {"other_load", machine.other_load}};
  const json root = {{"version", kVersion}, {"machines", std::move(entries)}};
  std::error_code error;
  fs::create_directories(cache_file.parent_path(), error);
  try {
    io::write_whole(cache_file, json_text(root) + "\n", io::Sync::no);
    return true;
  } catch (const Error&) {
    return false;
  }
}

namespace {

std::string key_of(const MachineRequest& request) {
  return machine_key(request.file, request.threads, request.device, request.host);
}

bool has_all(const std::optional<Machine>& kept, const MachineRequest& request) {
  return kept && (kept->step.known() || !request.measure_steps);
}

bool is_good_enough(const std::optional<Machine>& kept, const MachineRequest& request) {
  return has_all(kept, request) && !request.again &&
         (!kept->was_busy() || !is_quiet_now(request.host));
}

}  // namespace

bool must_measure(const MachineRequest& request) {
  return !is_good_enough(load_machine(machine_cache_file(request.host), key_of(request)), request);
}

Machine known_machine(const MachineRequest& request, memory::Ledger& ledger) {
  const fs::path cache_file = machine_cache_file(request.host);
  const std::string key = key_of(request);
  const std::optional<Machine> kept = load_machine(cache_file, key);
  if (is_good_enough(kept, request)) return *kept;
  Machine machine =
      calibrate(request.file, request.threads, request.measure_steps, ledger, request.host);
  // Of two that were measured beside other work, the better.
  if (has_all(kept, request) && machine.was_busy() && kept->other_load <= machine.other_load) {
    return *kept;
  }
  save_machine(cache_file, key, machine);
  return machine;
}

}  // namespace plimsoll::plan
