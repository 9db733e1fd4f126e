// raw/data.npz and raw/node-label.npz. The archive pulls its arrays; what does not come in the
// order of an array (destinations, labels) waits in a file meanwhile.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "formats/graph_blocks.h"
#include "formats/npz_writer.h"
#include "formats/ogb_layout.h"
#include "formats/spool_file.h"

namespace plimsoll::formats {
namespace {

constexpr uint64_t kYearsPerPiece = 128 * kKiB;

std::span<const std::byte> widened(std::span<const uint32_t> ids, std::span<int64_t> out) {
  std::copy(ids.begin(), ids.end(), out.begin());
  return std::as_bytes(out.first(ids.size()));
}

// All sources, then all destinations: an edge is read once, and its destination waits on the disk.
class EdgeIndexPieces {
 public:
  explicit EdgeIndexPieces(const OgbWork& work)
      : edges_(work.source, work.ledger),
        waiting_(work.ledger, work.temp_dir),
        wide_(work.ledger, "edge blocks",
              std::max(EdgesInOrder::kBlockEdges, SpoolFile::kBlockValues)) {}

  std::span<const std::byte> next() {
    if (reading_edges_) {
      const EdgesInOrder::Edges edges = edges_.next();
      waiting_.append(edges.destinations);
      if (!edges.sources.empty()) return widened(edges.sources, wide_.span());
      waiting_.rewind();
      reading_edges_ = false;
    }
    return widened(waiting_.next(), wide_.span());
  }

 private:
  EdgesInOrder edges_;
  SpoolFile waiting_;
  memory::Buffer<int64_t> wide_;
  bool reading_edges_ = true;
};

class YearPieces {
 public:
  YearPieces(const SplitRoles& roles, memory::Ledger& ledger)
      : roles_(roles), years_(ledger, "years", kYearsPerPiece) {}

  std::span<const std::byte> next() {
    const uint64_t count = std::min(kYearsPerPiece, roles_.size() - next_node_);
    for (uint64_t i = 0; i < count; ++i) years_[i] = year_of(roles_, next_node_ + i);
    next_node_ += count;
    return std::as_bytes(years_.first(count));
  }

 private:
  const SplitRoles& roles_;
  memory::Buffer<int64_t> years_;
  uint64_t next_node_ = 0;
};

// The labels are pushed by the InputGraph and pulled by the archive: the disk stands between.
class LabelPieces {
 public:
  explicit LabelPieces(const OgbWork& work)
      : waiting_(work.ledger, work.temp_dir),
        floats_(work.ledger, "labels", SpoolFile::kBlockValues) {
    read_all_labels(work, [&](std::span<const int32_t> labels) {
      waiting_.append({reinterpret_cast<const uint32_t*>(labels.data()), labels.size()});
    });
    waiting_.rewind();
  }

  std::span<const std::byte> next() {
    const std::span<const uint32_t> bits = waiting_.next();
    std::transform(bits.begin(), bits.end(), floats_.begin(), [](uint32_t label) {
      return static_cast<int32_t>(label) < 0 ? kNan : static_cast<float>(label);
    });
    return std::as_bytes(floats_.first(bits.size()));
  }

 private:
  SpoolFile waiting_;
  memory::Buffer<float> floats_;
};

NpyMember one_number(std::string name, const int64_t& value) {
  return {std::move(name),
          NpyType::int64,
          {1},
          [&] { return std::as_bytes(std::span(&value, 1)); },
          ""};
}

void write_label_npz(const OgbWork& work) {
  LabelPieces labels(work);
  write_npz(work.raw("node-label.npz"),
            {{"node_label.npy",
              NpyType::float32,
              {work.shape().nodes, 1},
              [&] { return labels.next(); },
              "writing labels"}},
            work.options.deflate, work.progress);
}

void write_data_npz(const OgbWork& work, const SplitRoles& roles) {
  const ingest::Shape& shape = work.shape();
  const auto nodes = static_cast<int64_t>(shape.nodes);
  const auto edges = static_cast<int64_t>(shape.edges);
  EdgeIndexPieces edge_index(work);
  YearPieces years(roles, work.ledger);
  std::optional<RowsInOrder> rows;
  const auto next_rows = [&] {
    if (!rows) rows.emplace(work.source, work.ledger);
    return std::as_bytes(rows->next());
  };

  std::vector<NpyMember> members;
  members.push_back({"edge_index.npy",
                     NpyType::int64,
                     {2, shape.edges},
                     [&] { return edge_index.next(); },
                     "writing edges"});
  if (shape.feature_columns > 0) {
    members.push_back({"node_feat.npy",
                       NpyType::float32,
                       {shape.nodes, shape.feature_columns},
                       next_rows,
                       "writing features"});
  }
  members.push_back({"node_year.npy",
                     NpyType::int64,
                     {shape.nodes, 1},
                     [&] { return years.next(); },
                     "writing years"});
  members.push_back(one_number("num_nodes_list.npy", nodes));
  members.push_back(one_number("num_edges_list.npy", edges));
  write_npz(work.raw("data.npz"), std::move(members), work.options.deflate, work.progress);
}

}  // namespace

void write_npz_layout(const OgbWork& work, const SplitRoles& roles) {
  if (work.shape().has_labels) write_label_npz(work);
  write_data_npz(work, roles);
}

}  // namespace plimsoll::formats
