// A graph in the caller's arrays: as an InputGraph, which reads the arrays in place, and its
// import.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "api/plimsoll.h"
#include "ingest/input_graph.h"

namespace plimsoll::api {

class ArrayGraph final : public ingest::InputGraph {
 public:
  // Throws Error{input} if the arrays do not fit together, and Error{usage} if one has a type that
  // it cannot have. The arrays must outlive this.
  explicit ArrayGraph(const plimsoll_import_options& options);

  const ingest::Shape& shape() const override { return shape_; }
  size_t next_edges(std::span<uint32_t> sources, std::span<uint32_t> destinations) override;
  Rows next_rows(std::span<float> values) override;
  void read_labels(const LabelSink& sink) override;
  void read_splits(const SplitSink& sink) override;
  std::string place(ingest::InputPart part, uint64_t row) const override;

 private:
  void read_split(ingest::SplitKind split, const SplitSink& sink) const;

  const plimsoll_import_options& options_;
  ingest::Shape shape_;
  std::atomic<uint64_t> next_edge_ = 0;
  std::atomic<uint64_t> next_row_ = 0;
};

// Makes a store from the arrays. Throws Error{usage} for options that do not fit together, and
// Error{memory} if the caller's memory leaves nothing of the limit.
void import_arrays(const plimsoll_import_options& options);

}  // namespace plimsoll::api
