// The options of commands that make a store: import, synth and precompute.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "formats/open_graph.h"
#include "graph/meta.h"
#include "ingest/making.h"

namespace plimsoll::cli {

// Output, memory limit and threads, for all three commands. Here and below, what is set must live
// until the command has run.
void add_store_options(CLI::App& command, ingest::MakingOptions& options);

// The same, and the order of the nodes and the folder for temporary files.
void add_making_options(CLI::App& command, ingest::MakingOptions& options);

// --directed and --undirected. `direction` stays empty if neither is given.
void add_direction_flags(CLI::App& command, std::optional<graph::Direction>& direction);

// f16 or f32, as an option with these names.
CLI::Option* add_feature_type(CLI::App& command, const char* names, graph::FeatureType& type);

// --ignore and --mask-column.
void add_reading_options(CLI::App& command, formats::ReadingOptions& reading);

}  // namespace plimsoll::cli
