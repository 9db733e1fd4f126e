#include "cli/store_options.h"

#include "cli/arguments.h"

namespace plimsoll::cli {

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

}  // namespace plimsoll::cli
