// Feature matrices that lie column by column (fortran_order), as numpy saves the result of an SVD
// or of a transposition. A panel of rows is gathered by one pass over the whole array, so memory is
// bounded by the panel and time grows with the square of the array: large ones are refused.
#pragma once

#include <mutex>
#include <vector>

#include "formats/npy_parts.h"

namespace plimsoll::formats {

class NpyColumnFeatures final : public FeatureReader {
 public:
  static constexpr uint64_t kPanelBytes = uint64_t{16} << 20;
  static constexpr uint64_t kMaxPanels = 64;

  // `panel_bytes` bounds the memory held; Error{input} where more than kMaxPanels panels were
  // needed.
  NpyColumnFeatures(NpyLocation location, MatrixShape shape, uint64_t panel_bytes = kPanelBytes);

  uint32_t columns() const override { return static_cast<uint32_t>(shape_.columns); }
  std::string place(uint64_t row) const override;
  std::string describe() const override;
  ingest::InputGraph::Rows next(std::span<float> values) override;

 private:
  void load_panel();

  const NpyLocation location_;
  const MatrixShape shape_;
  uint64_t panel_rows_ = 0;
  std::mutex mutex_;          // guards what follows
  std::vector<float> panel_;  // row by row
  uint64_t panel_begin_ = 0;  // the panel holds the rows [panel_begin_, panel_end_)
  uint64_t panel_end_ = 0;
  uint64_t next_row_ = 0;
};

}  // namespace plimsoll::formats
