#include "cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/units.h"
#include "gate/gate.h"
#include "ranks/rank_place.h"

namespace plimsoll::cli {
namespace {

constexpr unsigned kMostThreads = 4096;

// The size that was probably meant by a number without the right unit. Large numbers are MiB, as
// Slurm's --mem counts.
std::string meant_size(const std::string& text) {
  const std::string number = text.substr(0, text.find_first_not_of("0123456789."));
  const double value = std::strtod(number.c_str(), nullptr);
  if (value <= 0) return "write it like 8G";
  return fmt::format("did you mean {}{}?", number, value < 1024 ? "G" : "M");
}

// Why `text` cannot be a size of memory; empty when it can.
std::string refuse_size(std::string& text) {
  constexpr uint64_t kLeastBytes = kMiB;
  try {
    const uint64_t bytes = parse_bytes(text);
    if (bytes >= kLeastBytes) return {};
    return fmt::format("'{}' is {}, less than any program needs; {}", text, format_bytes(bytes),
                       meant_size(text));
  } catch (const Error& error) {
    return error.what();
  }
}

std::string refuse_duration(std::string& text) {
  try {
    parse_seconds(text);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

constexpr const char* kAuto = "auto";

std::string refuse_sizes(std::string& text) {
  if (text.empty() || text.back() == ',') return refuse_size(text);
  for (std::string& word : CLI::detail::split(text, ',')) {
    if (word == kAuto) continue;
    if (std::string refused = refuse_size(word); !refused.empty()) return refused;
  }
  return {};
}

std::string refuse_size_or_auto(std::string& text) {
  return text == kAuto ? std::string() : refuse_size(text);
}

std::optional<uint64_t> parse_size_or_auto(const std::string& text) {
  return text == kAuto ? std::nullopt : std::optional(parse_bytes(text));
}

constexpr unsigned kMostWorkers = 4096;
constexpr unsigned kMostWindow = 1'000'000;
constexpr double kLeastRankMinutes = 0.01;
constexpr double kMostRankMinutes = 100'000;

// As torch counts: cuda:0 is the first GPU that a process may use, and the one that cuda takes.
// Several ranks take one each. The number goes to `gpu`, and the word becomes one of the choices.
CLI::Validator device_word(std::optional<unsigned>& gpu) {
  auto spell = [&gpu](std::string& word) -> std::string {
    if (word == "gpu") word = "cuda";
    if (!word.starts_with("cuda:")) return {};
    const std::string number = word.substr(word.find(':') + 1);
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    if (number.empty() || number.size() > 4 || !std::ranges::all_of(number, digit)) {
      fail(ErrorKind::usage, "--device {}: give cuda:N, where N counts the GPUs from 0", word);
    }
    gpu = static_cast<unsigned>(std::stoul(number));
    word = "cuda";
    return {};
  };
  return {std::move(spell), ""};
}

}  // namespace

CLI::Option* add_bytes(CLI::App& command, const std::string& name, std::optional<uint64_t>& bytes,
                       const std::string& description) {
  return command
      .add_option_function<std::string>(
          name, [&bytes](const std::string& text) { bytes = parse_bytes(text); }, description)
      ->check(CLI::Validator(refuse_size, ""))
      ->type_name("SIZE");
}

CLI::Option* add_duration(CLI::App& command, const std::string& name,
                          std::optional<double>& seconds, const std::string& description) {
  return command
      .add_option_function<std::string>(
          name, [&seconds](const std::string& text) { seconds = parse_seconds(text); }, description)
      ->check(CLI::Validator(refuse_duration, ""))
      ->type_name("TIME");
}

CLI::Option* add_memory(CLI::App& command, std::optional<uint64_t>& bytes) {
  return add_bytes(command, "--memory", bytes, "memory limit, as 8G or 512M")
      ->default_str("half of what the machine, the cgroup or Slurm allows")
      ->group(kResources);
}

CLI::Option* add_training_memory(CLI::App& command, std::optional<uint64_t>& bytes) {
  return command
      .add_option_function<std::string>(
          "--memory", [&bytes](const std::string& text) { bytes = parse_size_or_auto(text); },
          "memory limit, as 8G or 512M; auto takes all that a cgroup or Slurm allows, and what "
          "the machine can spare of its RAM")
      ->check(CLI::Validator(refuse_size_or_auto, ""))
      ->type_name("SIZE")
      ->default_str(kAuto)
      ->group(kResources);
}

CLI::Option* add_training_memories(CLI::App& command, std::vector<std::optional<uint64_t>>& sizes) {
  return command
      .add_option_function<std::string>(
          "--memory",
          [&sizes](const std::string& text) {
            for (const std::string& word : CLI::detail::split(text, ',')) {
              sizes.push_back(parse_size_or_auto(word));
            }
          },
          "memory limit, as 8G or 512M, or auto; several, as 8G,16G,32G, make a table")
      ->check(CLI::Validator(refuse_sizes, ""))
      ->type_name("SIZE")
      ->default_str(kAuto)
      ->group(kResources);
}

CLI::Option* add_threads(CLI::App& command, unsigned& threads) {
  threads = available_threads();
  return command.add_option("--threads", threads, "number of threads")
      ->default_str("all of this process")
      ->check(whole_number(1, kMostThreads))
      ->type_name("N")
      ->group(kResources);
}

CLI::Option* add_quiet(CLI::App& command, bool& quiet) {
  return command.add_flag("-q,--quiet", quiet, "show no progress")->group(kOutput);
}

CLI::Option* add_json(CLI::App& command, bool& json) {
  return command.add_flag("--json", json, "print JSON instead of text")->group(kOutput);
}

CLI::Option* add_plot(CLI::App& command, bool& plot) {
  return command.add_flag("--plot", plot, "also draw figures on the terminal")
      ->excludes(command.get_option("--json"))
      ->group(kOutput);
}

CLI::Option* add_python(CLI::App& command, std::string& python) {
  return command
      .add_option("--python", python,
                  "the Python interpreter, by its name on the PATH or by its path")
      ->type_name("PYTHON")
      ->default_str("python3");
}

std::string spellings(const std::string& name, const std::vector<std::string>& others) {
  std::string names = name;
  const auto add_underscored = [&](const std::string& hyphened) {
    std::string underscored = hyphened;
    std::replace(underscored.begin() + 2, underscored.end(), '-', '_');
    if (underscored != hyphened) names += "," + underscored;
  };
  add_underscored(name);
  for (const std::string& other : others) {
    names += ",--" + other;
    add_underscored("--" + other);
  }
  return names;
}

CLI::Validator whole_number(uint64_t lowest, uint64_t highest) {
  auto refuse = [lowest, highest](std::string& text) -> std::string {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool plain = end == text.data() + text.size() && (text == "0" || !text.starts_with('0'));
    if (error == std::errc() && plain && number >= lowest && number <= highest) return {};
    return fmt::format("'{}' is not a whole number from {} to {}", text, lowest, highest);
  };
  return {std::move(refuse), ""};
}

namespace {

std::optional<double> finite_number(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

CLI::Validator positive_number() {
  return {[](std::string& text) -> std::string {
            if (finite_number(text).value_or(0) > 0) return {};
            return fmt::format("'{}' is not a number above 0", text);
          },
          ""};
}

CLI::Validator number_from_zero() {
  return {[](std::string& text) -> std::string {
            if (finite_number(text).value_or(-1) >= 0) return {};
            return fmt::format("'{}' is not a number of at least 0", text);
          },
          ""};
}

std::vector<std::string> allowed_words(const CLI::Option& option) {
  // CLI11 keeps the set only as text, at the end of the type's name: "TEXT:{bash,zsh,fish}".
  const std::string type = option.get_type_name();
  const size_t open = type.find('{');
  const size_t close = type.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

using graph::Direction;
using graph::FeatureType;
using graph::NodeOrder;

void add_store_options(CLI::App& command, ingest::MakingOptions& options) {
  command.add_option("--out", options.out, "folder of the new store, such as papers.plim")
      ->required()
      ->type_name("FOLDER")
      ->group(kOutput);
  command.add_flag("--force", options.force, "replace an existing store of that name")
      ->group(kOutput);
  add_memory(command, options.memory_bytes);
  add_threads(command, options.threads);
  add_json(command, options.json);
  add_quiet(command, options.quiet)
      ->description("print nothing but errors and what is not imported");
}

void add_making_options(CLI::App& command, ingest::MakingOptions& options) {
  add_store_options(command, options);
  add_choice(command, "--order", options.order,
             {NodeOrder::visits, NodeOrder::degree, NodeOrder::original},
             "order of the nodes in the store: by the visits expected in training, by "
             "degree, or as in the source; degree and original are for comparisons")
      ->group(kOutput);
  command.add_option("--temp-dir", options.temp_folder, "folder for temporary files")
      ->type_name("FOLDER")
      ->default_str("beside the output")
      ->group(kResources);
}

void add_direction_flags(CLI::App& command, std::optional<Direction>& direction) {
  CLI::Option* undirected = command.add_flag_callback(
      "--undirected", [&direction] { direction = Direction::undirected; },
      "add the reverse of every edge, remove duplicates");
  command
      .add_flag_callback(
          "--directed", [&direction] { direction = Direction::directed; },
          "keep the edges as they are")
      ->excludes(undirected);
}

CLI::Option* add_feature_type(CLI::App& command, const char* names, FeatureType& type) {
  return add_choice(command, names, type, {FeatureType::f16, FeatureType::f32},
                    "type of the stored features: f16 (half the disk space, no measurable loss of "
                    "accuracy) or f32");
}

void add_reading_options(CLI::App& command, formats::ReadingOptions& reading) {
  command
      .add_option("--ignore", reading.ignore,
                  "do not import these arrays or files, such as edge_weight,edge_attr")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAMES");
  command
      .add_option("--mask-column", reading.mask_column,
                  "for masks with several columns, one for each split: the column to take, from 0")
      ->check(whole_number(0, 0xffffffffU))
      ->type_name("N");
}

void add_device_options(CLI::App& command, launch::RunningOptions& options) {
  train::Execution& run = options.run;
  using train::DeviceKind;
  add_choice(command, "--device", run.device,
             {DeviceKind::automatic, DeviceKind::cpu, DeviceKind::cuda},
             "where to compute; auto takes a GPU if there is one")
      ->transform(device_word(options.gpu))
      ->group(kResources);
  add_bytes(command, "--gpu-memory", run.gpu_memory_bytes,
            "the most to take of the GPU's memory, as 22G; default: nearly all of it")
      ->group(kResources);
  command
      .add_flag("--tf32", run.tf32,
                "let the GPU multiply matrices in reduced precision (TF32): faster, and slightly "
                "other results")
      ->group(kResources);
  command
      .add_option(spellings("--workers", {"num-workers"}), run.workers,
                  "threads that make batches; they share one copy of the graph; 0 = chosen by the "
                  "plan")
      ->check(whole_number(0, kMostWorkers))
      ->type_name("N")
      ->capture_default_str()
      ->group(kResources);
  command
      .add_option("--window", run.window,
                  "number of batches whose rows are read from disk together, in the order of the "
                  "file; 1 = each batch reads for itself, 0 = chosen by the plan")
      ->check(whole_number(0, kMostWindow))
      ->type_name("N")
      ->capture_default_str()
      ->group(kResources);
  add_threads(command, run.threads)->each([&options](const std::string&) {
    options.threads_given = true;
  });
}

void add_ranks(CLI::App& command, unsigned& ranks) {
  command
      .add_option(
          "--ranks", ranks,
          "work in N processes on this machine, which cut every batch among them; "
          "--threads is then for each of them, --memory for all together. Under torchrun or "
          "srun leave it out")
      ->check(whole_number(1, plimsoll::ranks::kMostRanks))
      ->type_name("N")
      ->group(kResources);
}

void add_running_options(CLI::App& command, launch::RunningOptions& options) {
  add_device_options(command, options);
  add_training_memory(command, options.memory_bytes);
  add_ranks(command, options.ranks);
  command
      .add_option("--rank-timeout", options.rank_timeout_minutes,
                  "end all ranks if one makes no progress for X minutes (default: 30 if it does "
                  "something, 6 seconds if it does nothing)")
      ->check(CLI::Range(kLeastRankMinutes, kMostRankMinutes))
      ->type_name("X")
      ->group(kResources);
  command.add_flag("--verify", options.verify,
                   "first read every file of the store and compare its checksum");
  add_quiet(command, options.run.quiet);
}

launch::GpuFacts gpu_facts() { return launch::gpu_facts(gate::first_usable_gpu); }

}  // namespace plimsoll::cli
