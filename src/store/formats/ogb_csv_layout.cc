// raw/edge.csv.gz and its like, one file after the other.
#include <span>
#include <string_view>

#include "formats/csv_gz_writer.h"
#include "formats/graph_blocks.h"
#include "formats/ogb_layout.h"

namespace plimsoll::formats {
namespace {

void write_number_csv(const OgbWork& work, std::string_view file_name, uint64_t value) {
  CsvGzWriter file(work.ledger, work.raw(file_name));
  file.add_integer(value);
  file.end_line();
  file.finish();
}

void write_edge_csv(const OgbWork& work) {
  CsvGzWriter file(work.ledger, work.raw("edge.csv.gz"));
  EdgesInOrder blocks(work.source, work.ledger);
  work.progress.start_step("writing edges", "edges", work.shape().edges);
  for (auto edges = blocks.next(); !edges.sources.empty(); edges = blocks.next()) {
    for (size_t i = 0; i < edges.sources.size(); ++i) {
      file.add_integer(edges.sources[i]);
      file.add_integer(edges.destinations[i]);
      file.end_line();
    }
    work.progress.add(edges.sources.size());
  }
  file.finish();
}

void write_feature_csv(const OgbWork& work) {
  CsvGzWriter file(work.ledger, work.raw("node-feat.csv.gz"));
  RowsInOrder blocks(work.source, work.ledger);
  const size_t columns = work.shape().feature_columns;
  work.progress.start_step("writing features", "nodes", work.shape().nodes);
  for (auto values = blocks.next(); !values.empty(); values = blocks.next()) {
    for (size_t i = 0; i < values.size(); ++i) {
      file.add_decimal(values[i]);
      if ((i + 1) % columns == 0) file.end_line();
    }
    work.progress.add(values.size() / columns);
  }
  file.finish();
}

void write_label_csv(const OgbWork& work) {
  CsvGzWriter file(work.ledger, work.raw("node-label.csv.gz"));
  work.progress.start_step("writing labels", "nodes", work.shape().nodes);
  read_all_labels(work, [&](std::span<const int32_t> labels) {
    for (const int32_t label : labels) {
      if (label < 0) {
        file.add_decimal(kNan);
      } else {
        file.add_integer(static_cast<uint64_t>(label));
      }
      file.end_line();
    }
    work.progress.add(labels.size());
  });
  file.finish();
}

void write_year_csv(const OgbWork& work, const SplitRoles& roles) {
  CsvGzWriter file(work.ledger, work.raw("node_year.csv.gz"));
  work.progress.start_step("writing years", "nodes", roles.size());
  for (uint64_t node = 0; node < roles.size(); ++node) {
    file.add_integer(static_cast<uint64_t>(year_of(roles, node)));
    file.end_line();
    work.progress.add(1);
  }
  file.finish();
}

}  // namespace

void write_csv_layout(const OgbWork& work, const SplitRoles& roles) {
  write_edge_csv(work);
  if (work.shape().feature_columns > 0) write_feature_csv(work);
  if (work.shape().has_labels) write_label_csv(work);
  write_year_csv(work, roles);
  write_number_csv(work, "num-node-list.csv.gz", work.shape().nodes);
  write_number_csv(work, "num-edge-list.csv.gz", work.shape().edges);
}

}  // namespace plimsoll::formats
