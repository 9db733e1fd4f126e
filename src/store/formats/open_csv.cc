#include "formats/csv_parts.h"
#include "formats/file_graph.h"
#include "formats/open_graph.h"
#include "formats/recognise.h"
#include "formats/split_folder.h"

namespace plimsoll::formats {

std::unique_ptr<FileGraph> open_csv(const CsvOptions& options) {
  check_is_text(options.edges);
  check_is_text(options.features);
  if (options.labels) check_is_text(*options.labels);
  const StatedCount nodes =
      count_csv_lines(options.labels.value_or(options.features), options.progress);
  check_node_count(nodes);
  const StatedCount edges = count_csv_lines(options.edges, options.progress);

  GraphParts parts;
  parts.nodes = nodes.count;
  parts.edges = open_csv_edges(options.edges, nodes.count, edges);
  parts.features = open_csv_features(options.features, nodes);
  if (options.labels) parts.labels = open_csv_labels(*options.labels, nodes);
  if (options.split_dir) {
    parts.splits = open_split_folder(*options.split_dir, nodes, parts.not_read);
  }
  return std::make_unique<FileGraph>(std::move(parts));
}

}  // namespace plimsoll::formats
