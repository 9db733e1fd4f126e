#include "formats/ogb_layout.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "formats/graph_blocks.h"
#include "formats/npz_writer.h"

namespace plimsoll::formats {
namespace {

constexpr uint64_t kTextBytes = 256 * kKiB;
constexpr uint64_t kPackedBytes = 64 * kKiB;
constexpr uint64_t kZlibBytes =
    272 * kKiB;                       // window, hash chains and codes, as zconf.h counts them
constexpr int kWindowBits = 15 + 16;  // 16 asks zlib for a gzip header
constexpr int kMemoryLevel = 8;

}  // namespace

CsvGzWriter::CsvGzWriter(memory::Ledger& ledger, const std::filesystem::path& path)
    : file_(ledger, path),
      zlib_lease_(ledger.lease("gzip", kZlibBytes)),
      text_(ledger, "gzip", kTextBytes),
      packed_(ledger, "gzip", kPackedBytes) {
  if (deflateInit2(&zlib_, Z_BEST_SPEED, Z_DEFLATED, kWindowBits, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    fail(ErrorKind::memory, "zlib cannot start for {}: it needs {}", path.string(),
         format_bytes(kZlibBytes));
  }
}

CsvGzWriter::~CsvGzWriter() { deflateEnd(&zlib_); }

template <typename T>
void CsvGzWriter::add(T value) {
  if (text_.size() - text_bytes_ < kMaxFieldBytes) compress(Z_NO_FLUSH);
  if (line_has_field_) text_[text_bytes_++] = ',';
  const std::to_chars_result result = std::to_chars(text_.data() + text_bytes_, text_.end(), value);
  text_bytes_ = static_cast<uint64_t>(result.ptr - text_.data());
  line_has_field_ = true;
}

void CsvGzWriter::add_integer(uint64_t value) { add(value); }
void CsvGzWriter::add_decimal(float value) { add(value); }

void CsvGzWriter::end_line() {
  if (text_bytes_ == text_.size()) compress(Z_NO_FLUSH);
  text_[text_bytes_++] = '\n';
  line_has_field_ = false;
}

void CsvGzWriter::compress(int flush) {
  throw_if_interrupted();
  zlib_.next_in = reinterpret_cast<Bytef*>(text_.data());
  zlib_.avail_in = static_cast<uInt>(text_bytes_);
  do {
    zlib_.next_out = reinterpret_cast<Bytef*>(packed_.data());
    zlib_.avail_out = static_cast<uInt>(packed_.size());
    deflate(&zlib_, flush);
    file_.append(packed_.first(packed_.size() - zlib_.avail_out));
  } while (zlib_.avail_out == 0);
  text_bytes_ = 0;
}

void CsvGzWriter::finish() {
  compress(Z_FINISH);
  file_.finish();
}

// The csv layout: raw/edge.csv.gz and the other files, one after the other.
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

// The npz layout: raw/data.npz and raw/node-label.npz. The archive requests its arrays; data that
// arrives at another time (destinations, labels) is kept in a temporary file.
namespace {

constexpr uint64_t kYearsPerPiece = 128 * kKiB;

std::span<const std::byte> widened(std::span<const uint32_t> ids, std::span<int64_t> out) {
  std::copy(ids.begin(), ids.end(), out.begin());
  return std::as_bytes(out.first(ids.size()));
}

// All sources, then all destinations. An edge is read once; its destination is kept on disk.
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

// Labels are pushed by the InputGraph and requested by the archive, so they are kept on disk
// between the two.
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
