// Splits as masks: one value a node, true for the nodes of the split. PyG has (nodes,), some of its
// data sets several splits side by side, (nodes, splits).
#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "formats/npy_parts.h"
#include "formats/npy_reader.h"

namespace plimsoll::formats {
namespace {

constexpr size_t kPieceValues = 16 * kKiB;

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

}  // namespace plimsoll::formats
