// The interface of everything that can be imported: a graph with its original ids in its original
// order. The readers of csv, npy and npz and the synthetic generator implement it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace plimsoll::ingest {

struct Shape {
  uint64_t nodes = 0;
  uint64_t edges = 0;  // as listed: without reverse edges, with duplicates and self-loops
  uint32_t feature_columns = 0;
  bool has_labels = false;
  uint64_t classes = 0;  // 0 if the source does not know; a class may have no labelled node
};

enum class SplitKind : uint8_t { train, valid, test };
inline constexpr std::array kSplits = {SplitKind::train, SplitKind::valid, SplitKind::test};
constexpr std::string_view name(SplitKind split) {
  constexpr std::array<std::string_view, 3> kNames = {"train", "valid", "test"};
  return kNames.at(static_cast<size_t>(split));
}

// The inputs that an error message can point to.
enum class InputPart { edges, features, labels, train, valid, test };
constexpr InputPart part_of(SplitKind split) {
  return static_cast<InputPart>(static_cast<int>(InputPart::train) + static_cast<int>(split));
}

// An InputGraph checks what it reads: every value has the right type and every id is below
// shape().nodes; otherwise it throws Error{input} that names the file, the place and the remedy.
// build() checks what needs the whole graph or the options (a node in two splits, a feature too
// large for f16), and names the place with place().
class InputGraph {
 public:
  InputGraph() = default;
  InputGraph(const InputGraph&) = delete;
  InputGraph& operator=(const InputGraph&) = delete;
  virtual ~InputGraph() = default;

  virtual const Shape& shape() const = 0;

  // The bytes that it keeps leased while it lives, if they grow with the graph.
  virtual uint64_t leased_bytes() const { return 0; }

  // Some files must be read a long way before the first edge. skip_to_edges() does that and calls
  // `on_bytes` after every piece. Calling it is optional: without it next_edges() skips as well,
  // but shows no progress.
  using OnBytes = std::function<void(uint64_t bytes)>;
  virtual uint64_t bytes_before_edges() const { return 0; }
  virtual void skip_to_edges(const OnBytes& /*on_bytes*/) {}

  // Fills in the next edges, at most sources.size() (== destinations.size()), and returns how many;
  // 0 at the end. Several threads call it at the same time; together they get every edge once.
  virtual size_t next_edges(std::span<uint32_t> sources, std::span<uint32_t> destinations) = 0;

  // Fills in the next whole rows, as many as fit or fewer; count is 0 at the end. Several threads
  // call it at the same time.
  struct Rows {
    uint64_t first_node = 0;
    uint64_t count = 0;
  };
  virtual Rows next_rows(std::span<float> values) = 0;

  // For an InputGraph that can make any row at any time: rows_of() fills `values` with the rows of
  // `nodes`. Call it only if has_random_rows().
  virtual bool has_random_rows() const { return false; }
  virtual void rows_of(std::span<const uint32_t> /*nodes*/, std::span<float> /*values*/) const {
    fail(ErrorKind::internal, "this source reads its rows in order only");
  }

  // One label per node, in the order of the nodes, a piece at a time; -1 = unlabelled. May be
  // called more than once, but only if shape().has_labels.
  using LabelSink = std::function<void(std::span<const int32_t> labels)>;
  virtual void read_labels(const LabelSink& sink) = 0;

  // The nodes of each split, with the row (from 0) of the file that lists them. Does not call
  // `sink` for a graph without splits.
  using SplitSink = std::function<void(SplitKind split, uint64_t row, uint32_t node)>;
  virtual void read_splits(const SplitSink& sink) = 0;

  // For messages: "papers/raw/data.npz, member node_feat.npy, row 12" (rows count from 0, as in
  // Python).
  virtual std::string place(InputPart part, uint64_t row) const = 0;
};

}  // namespace plimsoll::ingest
