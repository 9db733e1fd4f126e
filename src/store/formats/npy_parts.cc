#include "formats/npy_parts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "formats/byte_stream.h"
#include "formats/npy.h"
#include "graph/meta.h"

namespace plimsoll::formats {
namespace {

constexpr size_t kPieceValues = 16 * kKiB;

std::string row_words(const NpyLocation& location, uint64_t row) {
  return fmt::format("{}, row {}", location.words(), row);
}

class NpyFeatures final : public FeatureReader {
 public:
  NpyFeatures(NpyLocation location, MatrixShape shape)
      : location_(std::move(location)), shape_(shape), reader_(open_npy(location_)) {}

  uint32_t columns() const override { return static_cast<uint32_t>(shape_.columns); }
  std::string place(uint64_t row) const override { return row_words(location_, row); }
  std::string describe() const override { return location_.describe(reader_.header()); }

  ingest::InputGraph::Rows next(std::span<float> values) override {
    const std::lock_guard lock(mutex_);
    const uint64_t first = next_row_;
    const uint64_t count = std::min(values.size() / shape_.columns, shape_.rows - first);
    next_row_ += count;  // even if reading fails: other threads must not find too few at the end
    reader_.read_features(values.first(count * shape_.columns));
    return {first, count};
  }

 private:
  const NpyLocation location_;
  const MatrixShape shape_;
  std::mutex mutex_;  // guards what follows
  NpyReader reader_;
  uint64_t next_row_ = 0;
};

// Throws unless the array is a vector or a matrix of one column.
uint64_t vector_length(const NpyReader& reader, std::string_view expected) {
  const auto& shape = reader.header().shape;
  if (shape.size() == 1 || (shape.size() == 2 && shape[1] == 1)) return shape[0];
  fail(ErrorKind::input, "{} is {}, {} is expected", reader.name(), describe(reader.header()),
       expected);
}

class NpyLabels final : public LabelReader {
 public:
  NpyLabels(NpyLocation location, StatedCount nodes) : location_(std::move(location)) {
    const NpyReader reader(open_npy(location_));
    header_ = reader.header();
    const uint64_t rows =
        vector_length(reader, "one label per node, shape (nodes,) or (nodes, 1),");
    if (rows != nodes.count) {
      fail(ErrorKind::input,
           "{} has {} rows, but {} gives {} nodes; the files are not from one graph",
           location_.words(), rows, nodes.stated_by, nodes.count);
    }
  }

  std::string place(uint64_t row) const override { return row_words(location_, row); }
  std::string describe() const override { return location_.describe(header_); }

  void read(const ingest::InputGraph::LabelSink& sink) const override {
    NpyReader reader(open_npy(location_));
    std::vector<int32_t> piece(kPieceValues);
    while (const size_t count = reader.read_labels(piece)) sink(std::span(piece).first(count));
  }

 private:
  const NpyLocation location_;
  NpyHeader header_;
};

class NpyIds final : public IdListReader {
 public:
  NpyIds(NpyLocation location, uint64_t nodes) : location_(std::move(location)), nodes_(nodes) {
    const NpyReader reader(open_npy(location_));
    header_ = reader.header();
    vector_length(reader, "a list of node ids, shape (n,),");
  }

  std::string place(uint64_t row) const override { return row_words(location_, row); }
  std::string describe() const override { return location_.describe(header_); }

  void read(const Sink& sink) const override {
    NpyReader reader(open_npy(location_));
    std::vector<uint32_t> piece(kPieceValues);
    uint64_t row = 0;
    while (const size_t count = reader.read_ids(piece, nodes_)) {
      for (const uint32_t id : std::span(piece).first(count)) sink(row++, id);
    }
  }

 private:
  const NpyLocation location_;
  const uint64_t nodes_;
  NpyHeader header_;
};

NpyHeader matrix_header(const NpyLocation& location) {
  NpyHeader header = parse_npy_header(*open_npy(location));
  if (header.shape.size() != 2 || header.shape[1] == 0) {
    fail(ErrorKind::input,
         "{} is {}, one row of features per node is expected, shape (nodes, features)",
         location.words(), describe(header));
  }
  if (header.shape[1] > graph::kMostColumns) {
    fail(ErrorKind::input, "{} is {}; a store has at most {} columns of features", location.words(),
         describe(header), graph::kMostColumns);
  }
  return header;
}

size_t ending_size(std::string_view member) {
  constexpr std::string_view kEnding = ".npy";
  return member.ends_with(kEnding) ? kEnding.size() : 0;
}

}  // namespace

std::string NpyLocation::words() const {
  return member.empty() ? file.string() : fmt::format("{}, member {}", file.string(), member);
}

std::string NpyLocation::describe(const NpyHeader& header) const {
  const std::string name = member.empty() ? file.filename().string()
                                          : member.substr(0, member.size() - ending_size(member));
  return fmt::format("{} ({}, {})", name, numpy_name(header.dtype), fmt::join(header.shape, " x "));
}

std::unique_ptr<ByteStream> open_npy(const NpyLocation& location) {
  return location.member.empty() ? open_file(location.file)
                                 : open_zip_member(location.file, location.member);
}

MatrixShape npy_matrix_shape(const NpyLocation& location) {
  const NpyHeader header = matrix_header(location);
  return {header.shape[0], header.shape[1]};
}

std::unique_ptr<FeatureReader> open_npy_features(const NpyLocation& location) {
  const NpyHeader header = matrix_header(location);
  const MatrixShape shape = {header.shape[0], header.shape[1]};
  if (header.fortran_order) {
    return std::make_unique<NpyColumnFeatures>(location, shape);
  }
  return std::make_unique<NpyFeatures>(location, shape);
}

std::unique_ptr<LabelReader> open_npy_labels(const NpyLocation& location, StatedCount nodes) {
  return std::make_unique<NpyLabels>(location, std::move(nodes));
}

std::unique_ptr<IdListReader> open_npy_ids(const NpyLocation& location, uint64_t nodes) {
  return std::make_unique<NpyIds>(location, nodes);
}

StatedCount read_npy_count(const NpyLocation& location) {
  NpyReader reader(open_npy(location));
  if (reader.header().value_count != 1) {
    fail(ErrorKind::input, "{} is {}, a single count is expected: the folder must hold one graph",
         location.words(), describe(reader.header()));
  }
  std::array<uint64_t, 1> count = {};
  reader.read_counts(count);
  return {count[0], location.words()};
}

namespace {

// Most PyG data sets have masks of shape (nodes,), some several splits side by side,
// (nodes, splits).
class NpyMask final : public IdListReader {
 public:
  NpyMask(NpyLocation location, const StatedCount& nodes, std::optional<uint64_t> column)
      : location_(std::move(location)), header_(parse_npy_header(*open_npy(location_))) {
    const auto& shape = header_.shape;
    if (shape.empty() || shape.size() > 2 || is_float(header_.dtype) || shape[0] != nodes.count) {
      fail(ErrorKind::input,
           "{} is {}; a mask is bool, one value for each of the {} nodes of {} (ids of nodes are "
           "named train_idx, valid_idx, test_idx)",
           location_.words(), formats::describe(header_), nodes.count, nodes.stated_by);
    }
    columns_ = shape.size() == 2 ? shape[1] : 1;
    if (columns_ == 1) return;
    if (!column || *column >= columns_) {
      fail(column ? ErrorKind::usage : ErrorKind::input,
           "{} holds {} splits side by side, {}; choose one with --mask-column, from 0 to {}",
           location_.words(), columns_, formats::describe(header_), columns_ - 1);
    }
    column_ = *column;
  }

  std::string place(uint64_t row) const override {
    return fmt::format("{}, row {}", location_.words(), row);
  }
  std::string describe() const override {
    return location_.describe(header_) + (columns_ == 1 ? "" : fmt::format(", column {}", column_));
  }

  void read(const Sink& sink) const override {
    NpyReader reader(open_npy(location_), NpyOrder::any);
    const uint64_t rows = header_.shape[0];
    const bool side_by_side = columns_ > 1 && !header_.fortran_order;
    const uint64_t stride = side_by_side ? columns_ : 1;
    const uint64_t first = side_by_side ? column_ : column_ * rows;
    std::vector<uint8_t> piece(kPieceValues);
    uint64_t index = 0;  // in the order of the file
    while (const size_t count = reader.read_flags(piece)) {
      for (size_t i = 0; i < count; ++i, ++index) {
        if (piece[i] == 0 || index < first || (index - first) % stride != 0) continue;
        const uint64_t node = (index - first) / stride;
        if (node < rows) sink(node, static_cast<uint32_t>(node));
      }
    }
  }

 private:
  const NpyLocation location_;
  const NpyHeader header_;
  uint64_t columns_ = 1;
  uint64_t column_ = 0;
};

}  // namespace

std::unique_ptr<IdListReader> open_npy_mask(const NpyLocation& location, const StatedCount& nodes,
                                            std::optional<uint64_t> column) {
  return std::make_unique<NpyMask>(location, nodes, column);
}

NpyColumnFeatures::NpyColumnFeatures(NpyLocation location, MatrixShape shape, uint64_t panel_bytes)
    : location_(std::move(location)), shape_(shape) {
  panel_rows_ = std::min(panel_bytes / (shape_.columns * sizeof(float)), shape_.rows);
  if (panel_rows_ * kMaxPanels < shape_.rows) {
    fail(ErrorKind::input,
         "{} is stored column by column (fortran_order is True), which is read only up to {} of "
         "float32; save np.ascontiguousarray(a) instead",
         location_.words(), format_bytes(panel_bytes * kMaxPanels));
  }
}

std::string NpyColumnFeatures::place(uint64_t row) const {
  return fmt::format("{}, row {}", location_.words(), row);
}

std::string NpyColumnFeatures::describe() const {
  return location_.describe(parse_npy_header(*open_npy(location_)));
}

ingest::InputGraph::Rows NpyColumnFeatures::next(std::span<float> values) {
  const std::lock_guard lock(mutex_);
  const uint64_t first = next_row_;
  const uint64_t count = std::min(values.size() / shape_.columns, shape_.rows - first);
  for (uint64_t done = 0; done < count;) {
    if (next_row_ == panel_end_) load_panel();
    const uint64_t step = std::min(count - done, panel_end_ - next_row_);
    std::copy_n(panel_.data() + (next_row_ - panel_begin_) * shape_.columns, step * shape_.columns,
                values.data() + done * shape_.columns);
    next_row_ += step;
    done += step;
  }
  if (next_row_ == shape_.rows) panel_ = {};
  return {first, count};
}

void NpyColumnFeatures::load_panel() {
  const uint64_t begin = panel_end_;
  const uint64_t rows = std::min(panel_rows_, shape_.rows - begin);
  panel_.resize(rows * shape_.columns);

  NpyReader reader(open_npy(location_), NpyOrder::any);
  std::vector<float> piece(std::min<uint64_t>(rows, 16 * kKiB));
  for (uint64_t column = 0; column < shape_.columns; ++column) {
    reader.skip(column == 0 ? begin : shape_.rows - rows);
    for (uint64_t row = 0; row < rows;) {
      const auto wanted = std::min<uint64_t>(piece.size(), rows - row);
      const size_t count = reader.read_features(std::span(piece).first(wanted));
      for (size_t i = 0; i < count; ++i) panel_[(row + i) * shape_.columns + column] = piece[i];
      row += count;
    }
  }
  panel_begin_ = begin;
  panel_end_ = begin + rows;
}

}  // namespace plimsoll::formats
