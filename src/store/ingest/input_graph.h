// A graph as its owner keeps it: original ids, original order. The builder reads any InputGraph;
// csv, npy, npz and the generator each are one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll::ingest {

struct Shape {
  uint64_t nodes = 0;
  uint64_t edges = 0;  // as listed, before reverse edges, duplicates and self-loops are dealt with
  uint32_t feature_columns = 0;
  bool has_labels = false;
  uint64_t classes = 0;  // where the source knows; a class may have no labelled node
};

enum class SplitKind : uint8_t { train, valid, test };
inline constexpr std::array kSplits = {SplitKind::train, SplitKind::valid, SplitKind::test};
constexpr std::string_view name(SplitKind split) {
  constexpr std::array<std::string_view, 3> kNames = {"train", "valid", "test"};
  return kNames.at(static_cast<size_t>(split));
}

// The files that an error can point into.
enum class InputPart { edges, features, labels, train, valid, test };
constexpr InputPart part_of(SplitKind split) {
  return static_cast<InputPart>(static_cast<int>(InputPart::train) + static_cast<int>(split));
}

// Every value an InputGraph hands out is of the right type and every id is below shape().nodes:
// whoever reads foreign bytes checks them there, and throws Error{input} that names the file, the
// place and the remedy. What only the whole graph can tell (a node in two splits, a feature too
// large for f16) the builder checks, and asks place() for the words.
class InputGraph {
 public:
  InputGraph() = default;
  InputGraph(const InputGraph&) = delete;
  InputGraph& operator=(const InputGraph&) = delete;
  virtual ~InputGraph() = default;

  virtual const Shape& shape() const = 0;

  // A file may have to be passed over for long before the first edge can be had. skip_to_edges()
  // does so, tells of every piece, and is optional: next_edges() would do it in silence.
  using OnBytes = std::function<void(uint64_t bytes)>;
  virtual uint64_t bytes_before_edges() const { return 0; }
  virtual void skip_to_edges(const OnBytes& /*on_bytes*/) {}

  // Takes the next edges, at most sources.size() (== destinations.size()), and returns how many; 0
  // at the end. Several threads call it at once; together they get every edge once.
  virtual size_t next_edges(std::span<uint32_t> sources, std::span<uint32_t> destinations) = 0;

  // Takes the next rows, whole ones, at most as many as fit; count 0 at the end. Several threads
  // call it at once.
  struct Rows {
    uint64_t first_node = 0;
    uint64_t count = 0;
  };
  virtual Rows next_rows(std::span<float> values) = 0;

  // An InputGraph that can make any row at any time says so and fills `values` with the rows of
  // `nodes`.
  virtual bool has_random_rows() const { return false; }
  virtual void rows_of(std::span<const uint32_t> nodes, std::span<float> values) const;

  // One label a node, in order of node, a piece at a time; -1 = unlabelled. May be read again.
  // Called only where shape().has_labels.
  using LabelSink = std::function<void(std::span<const int32_t> labels)>;
  virtual void read_labels(const LabelSink& sink) = 0;

  // The nodes of each split, with the row (from 0) that lists them. Nothing is called for a graph
  // without splits.
  using SplitSink = std::function<void(SplitKind split, uint64_t row, uint32_t node)>;
  virtual void read_splits(const SplitSink& sink) = 0;

  // "papers/raw/data.npz, member node_feat.npy, row 12" (rows from 0, as Python users count).
  virtual std::string place(InputPart part, uint64_t row) const = 0;
};

}  // namespace plimsoll::ingest
