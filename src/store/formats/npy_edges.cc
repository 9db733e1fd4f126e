// Edges from an array with two numbers per edge. PyG and OGB use the shape (2, edges); lists of
// pairs, (edges, 2), are as common, and numpy saves a transposed array in column order. So there
// are two layouts in the file: all sources before all destinations, or pairs.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "formats/npy.h"
#include "formats/npy_parts.h"

namespace plimsoll::formats {
namespace {

struct EdgeShape {
  uint64_t count = 0;
  bool edge_is_row = false;  // (edges, 2)
  bool pairs = false;        // source and destination are next to each other in the file
};

EdgeShape edge_shape(const NpyLocation& location, const NpyHeader& header) {
  const auto& shape = header.shape;
  if (shape.size() != 2 || (shape[0] != 2 && shape[1] != 2)) {
    fail(ErrorKind::input,
         "{} is {}; (2, edges) is expected, all sources and then all destinations, or (edges, 2)",
         location.words(), describe(header));
  }
  const bool edge_is_row = shape[0] != 2;
  return {edge_is_row ? shape[0] : shape[1], edge_is_row, edge_is_row != header.fortran_order};
}

std::string edge_words(const NpyLocation& location, const EdgeShape& shape, uint64_t edge) {
  return fmt::format("{}, {} {}", location.words(), shape.edge_is_row ? "row" : "column", edge);
}

std::string describe_edges(const NpyLocation& location, const EdgeShape& shape,
                           const NpyHeader& header) {
  const bool ambiguous = !shape.edge_is_row && shape.count == 2;
  return location.describe(header) +
         (ambiguous ? ", read as PyG does: a row of sources, a row of destinations" : "");
}

// The layout with all sources before all destinations. Two readers over the same array: one starts
// at the first source, one at the first destination. Each has a lock. A thread keeps the first lock
// until it has the second, so sources and destinations stay in step; while one thread decompresses
// destinations, another decompresses the next sources.
class NpyEdgeHalves final : public EdgeReader {
 public:
  NpyEdgeHalves(NpyLocation location, EdgeShape shape, uint64_t nodes)
      : location_(std::move(location)),
        nodes_(nodes),
        shape_(shape),
        count_(shape.count),
        sources_(open_npy(location_), NpyOrder::any),
        destinations_(open_npy(location_), NpyOrder::any) {}

  uint64_t count() const override { return count_; }
  std::string place(uint64_t row) const override { return edge_words(location_, shape_, row); }
  std::string describe() const override {
    return describe_edges(location_, shape_, sources_.header());
  }

  uint64_t bytes_before_edges() const override {
    return count_ * item_bytes(sources_.header().dtype);
  }

  // In a zip archive this decompresses half of the member.
  void skip_to_edges(const ingest::InputGraph::OnBytes& on_bytes) override {
    constexpr uint64_t kSkipValues = 1 << 20;
    for (uint64_t skipped = 0; skipped < count_;) {
      throw_if_interrupted();
      const uint64_t step = std::min(kSkipValues, count_ - skipped);
      destinations_.skip(step);
      skipped += step;
      on_bytes(step * item_bytes(sources_.header().dtype));
    }
    at_destinations_ = true;
  }

  size_t next(std::span<uint32_t> sources, std::span<uint32_t> destinations) override {
    std::unique_lock sources_lock(sources_mutex_);
    if (!at_destinations_) skip_to_edges([](uint64_t) {});
    const size_t count = std::min<uint64_t>(sources.size(), count_ - next_edge_);
    next_edge_ += count;  // even if reading fails: other threads must not find too few at the end
    sources_.read_ids(sources.first(count), nodes_);
    const std::lock_guard destinations_lock(destinations_mutex_);
    sources_lock.unlock();
    destinations_.read_ids(destinations.first(count), nodes_);
    return count;
  }

 private:
  const NpyLocation location_;
  const uint64_t nodes_;
  const EdgeShape shape_;
  const uint64_t count_;
  std::mutex sources_mutex_;  // guards sources_, next_edge_ and at_destinations_
  NpyReader sources_;
  uint64_t next_edge_ = 0;
  bool at_destinations_ = false;
  std::mutex destinations_mutex_;
  NpyReader destinations_;
};

// The layout with pairs: every source is followed by its destination.
class NpyEdgePairs final : public EdgeReader {
 public:
  NpyEdgePairs(NpyLocation location, EdgeShape shape, uint64_t nodes)
      : location_(std::move(location)),
        shape_(shape),
        nodes_(nodes),
        reader_(open_npy(location_), NpyOrder::any) {}

  uint64_t count() const override { return shape_.count; }
  std::string place(uint64_t row) const override { return edge_words(location_, shape_, row); }
  std::string describe() const override {
    return describe_edges(location_, shape_, reader_.header());
  }

  size_t next(std::span<uint32_t> sources, std::span<uint32_t> destinations) override {
    const std::lock_guard lock(mutex_);
    const size_t count = std::min<uint64_t>(sources.size(), shape_.count - next_edge_);
    next_edge_ += count;  // even if reading fails: other threads must not find too few at the end
    pairs_.resize(2 * std::min(count, kPieceEdges));
    for (size_t done = 0; done < count;) {
      const size_t step = std::min(count - done, kPieceEdges);
      reader_.read_ids(std::span(pairs_).first(2 * step), nodes_);
      for (size_t i = 0; i < step; ++i) {
        sources[done + i] = pairs_[2 * i];
        destinations[done + i] = pairs_[2 * i + 1];
      }
      done += step;
    }
    return count;
  }

 private:
  static constexpr size_t kPieceEdges = 16 * kKiB;

  const NpyLocation location_;
  const EdgeShape shape_;
  const uint64_t nodes_;
  std::mutex mutex_;  // guards what follows, except the reader's header
  NpyReader reader_;
  std::vector<uint32_t> pairs_;
  uint64_t next_edge_ = 0;
};

}  // namespace

std::unique_ptr<EdgeReader> open_npy_edges(const NpyLocation& location, uint64_t nodes) {
  const EdgeShape shape = edge_shape(location, parse_npy_header(*open_npy(location)));
  if (shape.pairs) return std::make_unique<NpyEdgePairs>(location, shape, nodes);
  return std::make_unique<NpyEdgeHalves>(location, shape, nodes);
}

}  // namespace plimsoll::formats
