// The interfaces of the parts that a FileGraph is made of: edges, features, labels, splits. A part
// reads one input in any format, checks its values, and can name a place in it for messages.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "graph/meta.h"
#include "ingest/input_graph.h"

namespace plimsoll::formats {

constexpr int32_t kUnlabelled = -1;
constexpr int32_t kMaxLabel = graph::kMostClasses - 1;

// The messages for an invalid id or label, the same for npy and csv.
template <typename Integer>
[[noreturn]] void fail_id(std::string_view place, Integer id, uint64_t nodes) {
  if (id < Integer{0}) {
    fail(ErrorKind::input, "{}: id {}; ids are whole numbers from 0", place, id);
  }
  fail(ErrorKind::input, "{}: id {} but there are only {} nodes; ids count from 0", place, id,
       nodes);
}

template <typename Number>
[[noreturn]] void fail_label(std::string_view place, Number label) {
  fail(ErrorKind::input,
       "{}: label {}; labels are whole numbers from 0 to {}, unlabelled is -1 or NaN", place, label,
       kMaxLabel);
}

// Empty if the number is not a valid label.
inline std::optional<int32_t> label_of(int64_t number) {
  if (number < kUnlabelled || number > kMaxLabel) return std::nullopt;
  return static_cast<int32_t>(number);
}

inline std::optional<int32_t> label_of(uint64_t number) {
  if (number > static_cast<uint64_t>(kMaxLabel)) return std::nullopt;
  return static_cast<int32_t>(number);
}

inline std::optional<int32_t> label_of(double number) {
  if (std::isnan(number)) return kUnlabelled;
  if (number < kUnlabelled || number > kMaxLabel || number != std::trunc(number)) {
    return std::nullopt;
  }
  return static_cast<int32_t>(number);
}

class GraphPart {
 public:
  GraphPart() = default;
  GraphPart(const GraphPart&) = delete;
  GraphPart& operator=(const GraphPart&) = delete;
  virtual ~GraphPart() = default;

  // For messages: "papers/raw/data.npz, member node_feat.npy, row 12". Rows count from 0, lines of
  // a text file from 1.
  virtual std::string place(uint64_t row) const = 0;
  // The input, for the user: "x (float32, 2708 x 1433)", "labels.csv (header: label)".
  virtual std::string describe() const = 0;
};

// next() works like InputGraph::next_edges: several threads may call it.
class EdgeReader : public GraphPart {
 public:
  virtual uint64_t count() const = 0;
  virtual size_t next(std::span<uint32_t> sources, std::span<uint32_t> destinations) = 0;
  virtual uint64_t bytes_before_edges() const { return 0; }
  virtual void skip_to_edges(const ingest::InputGraph::OnBytes& /*on_bytes*/) {}
};

// next() works like InputGraph::next_rows: several threads may call it.
class FeatureReader : public GraphPart {
 public:
  virtual uint32_t columns() const = 0;
  virtual ingest::InputGraph::Rows next(std::span<float> values) = 0;
};

// Every call of read() starts at the beginning.
class LabelReader : public GraphPart {
 public:
  virtual void read(const ingest::InputGraph::LabelSink& sink) const = 0;
};

// The nodes of one split. Every call of read() starts at the beginning.
class IdListReader : public GraphPart {
 public:
  using Sink = std::function<void(uint64_t row, uint32_t node)>;
  virtual void read(const Sink& sink) const = 0;
};

// An expected count and the file that states it, for messages: "d/raw/num-node-list.csv.gz".
struct StatedCount {
  uint64_t count = 0;
  std::string stated_by;
};

}  // namespace plimsoll::formats
