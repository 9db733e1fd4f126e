#include "plan/machine_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cmath>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/json.h"
#include "base/small_file.h"
#include "io/disk.h"
#include "io/write_whole.h"

namespace plimsoll::plan {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t kVersion = 1;           // of the file, and of how the figures are measured
constexpr size_t kMostBytes = 256 * 1024;  // of the file: hundreds of machines
// A file below this may come from caches of the disk and says nothing of a large one.
constexpr uint64_t kSmallFileBytes = uint64_t{1} << 30;

std::string cpu_model(const memory::Host& host) {
  constexpr std::string_view kName = "model name";
  std::ifstream file(host.root / "proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with(kName) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "some CPU";
}

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

}  // namespace

fs::path machine_cache_file(const memory::Host& host) {
  const auto folder = [&](const char* variable) {
    const fs::path path = host.variable(variable).value_or("");
    return path.is_absolute() ? path : fs::path();  // a relative one is to be ignored, says XDG
  };
  fs::path cache = folder("XDG_CACHE_HOME");
  if (cache.empty() && !folder("HOME").empty()) cache = folder("HOME") / ".cache";
  return cache.empty() ? cache : cache / "plimsoll" / "machine.json";
}

std::string machine_key(const fs::path& file, unsigned threads, const memory::Host& host) {
  const dev_t device = io::disk_of(file).device;
  std::error_code unknown;
  const uint64_t bytes = fs::file_size(file, unknown);
  const bool small = !unknown && bytes < kSmallFileBytes;
  return fmt::format("{}, {} threads, {}disk {}:{}", cpu_model(host), threads,
                     small ? "small file on " : "", major(device), minor(device));
}

std::optional<Machine> load_machine(const fs::path& cache_file, const std::string& key) {
  const json entries = load_entries(cache_file);
  const auto entry = entries.find(key);
  if (entry == entries.end() || !entry->is_object()) return {};
  Machine machine;
  const bool whole = read(*entry, "reads_per_second", machine.reads_per_second) &&
                     read_whole(*entry, "read_bytes", machine.read_bytes) &&
                     read(*entry, "read_bytes_per_second", machine.read_bytes_per_second) &&
                     read(*entry, "read_method", machine.read_method) &&
                     read(*entry, "flops_per_second", machine.flops_per_second) &&
                     read(*entry, "rows_per_second", machine.rows_per_second) &&
                     read_whole(*entry, "threads", machine.threads);
  return whole ? std::optional(machine) : std::nullopt;
}

bool save_machine(const fs::path& cache_file, const std::string& key, const Machine& machine) {
  if (cache_file.empty()) return false;
  json entries = load_entries(cache_file);
  entries[key] = {{"reads_per_second", machine.reads_per_second},
                  {"read_bytes", machine.read_bytes},
                  {"read_bytes_per_second", machine.read_bytes_per_second},
                  {"read_method", machine.read_method},
                  {"flops_per_second", machine.flops_per_second},
                  {"rows_per_second", machine.rows_per_second},
                  {"threads", machine.threads}};
  const json root = {{"version", kVersion}, {"machines", std::move(entries)}};
  std::error_code error;
  fs::create_directories(cache_file.parent_path(), error);
  try {
    io::write_whole(cache_file, root.dump(2, ' ', false, json::error_handler_t::replace) + "\n",
                    io::Sync::no);
    return true;
  } catch (const Error&) {
    return false;
  }
}

Machine known_machine(const fs::path& file, unsigned threads, bool again, memory::Ledger& ledger) {
  const fs::path cache_file = machine_cache_file();
  const std::string key = machine_key(file, threads);
  if (!again) {
    if (auto machine = load_machine(cache_file, key)) return *machine;
  }
  Machine machine = calibrate(file, threads, ledger);
  save_machine(cache_file, key, machine);
  return machine;
}

}  // namespace plimsoll::plan
