#include "formats/file_graph.h"

#include <limits>
#include <utility>

#include "base/error.h"

namespace plimsoll::formats {

FileGraph::FileGraph(FileGraphParts parts) : parts_(std::move(parts)) {
  shape_.nodes = parts_.nodes;
  shape_.edges = parts_.edges->count();
  shape_.feature_columns = parts_.features->columns();
  shape_.has_labels = parts_.labels != nullptr;
  if (shape_.edges == 0) {
    fail(ErrorKind::input, "{}: the graph has no edges", parts_.edges->place(0));
  }
}

size_t FileGraph::next_edges(std::span<uint32_t> sources, std::span<uint32_t> destinations) {
  return parts_.edges->next(sources, destinations);
}

ingest::InputGraph::Rows FileGraph::next_rows(std::span<float> values) {
  if (values.size() < shape_.feature_columns) {
    fail(ErrorKind::internal, "room for {} features was given, a row has {}", values.size(),
         shape_.feature_columns);
  }
  return parts_.features->next(values);
}

void FileGraph::read_labels(const LabelSink& sink) { parts_.labels->read(sink); }

void FileGraph::read_splits(const SplitSink& sink) {
  for (const ingest::SplitKind split : ingest::kSplits) {
    const auto& list = parts_.splits.at(static_cast<size_t>(split));
    if (list) list->read([&](uint64_t row, uint32_t node) { sink(split, row, node); });
  }
}

std::string FileGraph::place(ingest::InputPart part, uint64_t row) const {
  const GraphPart* const reader = part_of_graph(part);
  if (reader == nullptr) fail(ErrorKind::internal, "a place in a missing file was asked for");
  return reader->place(row);
}

std::vector<InputReading> FileGraph::readings() const {
  std::vector<InputReading> readings = {{"edges", parts_.edges->describe()},
                                        {"features", parts_.features->describe()}};
  if (parts_.labels) readings.push_back({"labels", parts_.labels->describe()});
  for (const ingest::SplitKind split : ingest::kSplits) {
    const auto& list = parts_.splits.at(static_cast<size_t>(split));
    if (list) readings.push_back({std::string(name(split)), list->describe()});
  }
  return readings;
}

const GraphPart* FileGraph::part_of_graph(ingest::InputPart part) const {
  switch (part) {
    case ingest::InputPart::edges:
      return parts_.edges.get();
    case ingest::InputPart::features:
      return parts_.features.get();
    case ingest::InputPart::labels:
      return parts_.labels.get();
    case ingest::InputPart::train:
    case ingest::InputPart::valid:
    case ingest::InputPart::test:
      break;
  }
  return parts_.splits.at(static_cast<size_t>(part) - static_cast<size_t>(ingest::InputPart::train))
      .get();
}

void check_node_count(const StatedCount& nodes) {
  if (nodes.count == 0) fail(ErrorKind::input, "{}: the graph has no nodes", nodes.stated_by);
  if (nodes.count > std::numeric_limits<uint32_t>::max()) {
    fail(ErrorKind::input, "{} gives {} nodes; at most {} are possible, ids have 32 bits",
         nodes.stated_by, nodes.count, std::numeric_limits<uint32_t>::max());
  }
}

void check_agreement(std::string_view what, const StatedCount& one, const StatedCount& other) {
  if (one.count == other.count) return;
  fail(ErrorKind::input, "{} gives {} {}, but {} gives {}; the files are not from one graph",
       one.stated_by, one.count, what, other.stated_by, other.count);
}

}  // namespace plimsoll::formats
