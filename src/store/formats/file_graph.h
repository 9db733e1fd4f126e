// An InputGraph made of parts that read files.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "formats/graph_parts.h"
#include "formats/input_items.h"
#include "ingest/input_graph.h"

namespace plimsoll::formats {

struct FileGraphParts {
  uint64_t nodes = 0;
  std::unique_ptr<EdgeReader> edges;
  std::unique_ptr<FeatureReader> features;
  std::unique_ptr<LabelReader> labels;  // may be nullptr
  // In the order of SplitKind; each may be nullptr.
  std::array<std::unique_ptr<IdListReader>, 3> splits;
  NotRead not_read;
};

// Which input was used for which part: "features", "x (float32, 2708 x 1433)".
struct InputReading {
  std::string as;
  std::string what;
};

class FileGraph final : public ingest::InputGraph {
 public:
  // Throws Error{input} if there are no edges.
  explicit FileGraph(FileGraphParts parts);

  const ingest::Shape& shape() const override { return shape_; }
  uint64_t bytes_before_edges() const override { return parts_.edges->bytes_before_edges(); }
  void skip_to_edges(const OnBytes& on_bytes) override { parts_.edges->skip_to_edges(on_bytes); }
  size_t next_edges(std::span<uint32_t> sources, std::span<uint32_t> destinations) override;
  Rows next_rows(std::span<float> values) override;
  void read_labels(const LabelSink& sink) override;
  void read_splits(const SplitSink& sink) override;
  std::string place(ingest::InputPart part, uint64_t row) const override;

  std::vector<InputReading> readings() const;
  const NotRead& not_read() const { return parts_.not_read; }

 private:
  const GraphPart* part_of_graph(ingest::InputPart part) const;

  FileGraphParts parts_;
  ingest::Shape shape_;
};

// Throws Error{input} unless there are from 1 to 2^32 - 1 nodes.
void check_node_count(const StatedCount& nodes);

// Throws Error{input} if two files state different numbers of `what`.
void check_agreement(std::string_view what, const StatedCount& one, const StatedCount& other);

}  // namespace plimsoll::formats
