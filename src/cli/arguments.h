// Options that several commands share, so that they have the same text and behaviour everywhere.
// Each writes to a variable that must live until the command has run.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/open_graph.h"
#include "graph/meta.h"
#include "ingest/making.h"
#include "launch/running.h"
#include "launch/training_device.h"

namespace plimsoll::cli {

// Headings in the help. Options without one are listed under "Options".
constexpr const char* kResources = "Resources";
constexpr const char* kOutput = "Output";

constexpr const char* kAutoResume = "auto";  // --resume auto: continue if there is something

// An option whose value is a size of memory like 8G or 512M, at least 1 MiB; `bytes` stays empty
// if it is not given.
CLI::Option* add_bytes(CLI::App& command, const std::string& name, std::optional<uint64_t>& bytes,
                       const std::string& description);

// An option whose value is a duration like 90s or 2h; `seconds` stays empty if it is not given.
CLI::Option* add_duration(CLI::App& command, const std::string& name,
                          std::optional<double>& seconds, const std::string& description);

// --memory SIZE, for memory::choose_limit.
CLI::Option* add_memory(CLI::App& command, std::optional<uint64_t>& bytes);

// --memory SIZE of a training. `bytes` stays empty for auto, which is the default.
CLI::Option* add_training_memory(CLI::App& command, std::optional<uint64_t>& bytes);

// The same for several sizes: 8G,16G,auto. `sizes` stays empty if it is not given.
CLI::Option* add_training_memories(CLI::App& command, std::vector<std::optional<uint64_t>>& sizes);

// --threads N, at least 1. Sets `threads` immediately to the number of CPUs of this process.
CLI::Option* add_threads(CLI::App& command, unsigned& threads);

// -q, --quiet, for Progress::detect.
CLI::Option* add_quiet(CLI::App& command, bool& quiet);

CLI::Option* add_json(CLI::App& command, bool& json);

// --plot: figures below the text. Not with --json, which must have been added before.
CLI::Option* add_plot(CLI::App& command, bool& plot);

// --python, for find_python().
CLI::Option* add_python(CLI::App& command, std::string& python);

// An option whose value is one of a few words, kept as an enum whose words name() gives.
template <typename Enum>
CLI::Option* add_choice(CLI::App& command, const std::string& names, Enum& value,
                        const std::vector<Enum>& choices, const std::string& description) {
  std::vector<std::string> words;
  words.reserve(choices.size());
  for (const Enum choice : choices) words.emplace_back(name(choice));
  return command
      .add_option_function<std::string>(
          names,
          [&value, choices](const std::string& word) {
            for (const Enum choice : choices) {
              if (name(choice) == word) value = choice;
            }
          },
          description)
      ->check(CLI::IsMember(words))
      ->default_str(std::string(name(value)));
}

// The names of an option: its own, and those that other programs use for the same thing, each with
// hyphens and with underscores. "--hidden", {"hidden-dim"} -> "--hidden,--hidden-dim,--hidden_dim".
std::string spellings(const std::string& name, const std::vector<std::string>& others = {});

// For ->check() of every whole number: CLI11 itself reads -1 as 2^64 - 1 and 010 as 8.
CLI::Validator whole_number(uint64_t lowest, uint64_t highest);

// For ->check() of finite numbers. CLI11's own name the largest double in their messages.
CLI::Validator positive_number();
CLI::Validator number_from_zero();

// The words that CLI::IsMember allows for the option; empty if any value is allowed.
std::vector<std::string> allowed_words(const CLI::Option& option);

// For commands that make a store, import, synth and precompute: output, memory limit, threads.
void add_store_options(CLI::App& command, ingest::MakingOptions& options);

// The same, and the order of the nodes and the folder for temporary files.
void add_making_options(CLI::App& command, ingest::MakingOptions& options);

// --directed and --undirected. `direction` stays empty if neither is given.
void add_direction_flags(CLI::App& command, std::optional<graph::Direction>& direction);

// f16 or f32, as an option with these names.
CLI::Option* add_feature_type(CLI::App& command, const char* names, graph::FeatureType& type);

// --ignore and --mask-column.
void add_reading_options(CLI::App& command, formats::ReadingOptions& reading);

// For commands that run on a store, train and predict: device, memory, ranks, --verify, --quiet.
void add_running_options(CLI::App& command, launch::RunningOptions& options);
// The part that plan has, too: --device, --workers, --window, --threads.
void add_device_options(CLI::App& command, launch::RunningOptions& options);
// --ranks N
void add_ranks(CLI::App& command, unsigned& ranks);

// The GPUs that a training can use here.
launch::GpuFacts gpu_facts();

}  // namespace plimsoll::cli
