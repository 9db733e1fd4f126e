#include "formats/npy_column_features.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "formats/npy_reader.h"

namespace plimsoll::formats {

NpyColumnFeatures::NpyColumnFeatures(NpyLocation location, MatrixShape shape, uint64_t panel_bytes)
    : location_(std::move(location)), shape_(shape) {
  panel_rows_ = std::min(panel_bytes / (shape_.columns * sizeof(float)), shape_.rows);
  if (panel_rows_ * kMaxPanels < shape_.rows) {
    fail(
        ErrorKind::input,
        "{} lies column by column (fortran_order is True), which is read up to {} of float32; save "
        "np.ascontiguousarray(a) instead",
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
