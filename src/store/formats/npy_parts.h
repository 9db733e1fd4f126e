// Edges, features, labels and node lists from npy arrays: separate files or members of an npz.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "formats/byte_stream.h"
#include "formats/graph_parts.h"
#include "formats/npy.h"

namespace plimsoll::formats {

// Where an array is, so that it can be opened several times.
struct NpyLocation {
  std::filesystem::path file;
  std::string member;  // empty: the file itself is the array

  std::string words() const;                            // for messages
  std::string describe(const NpyHeader& header) const;  // "x (float32, 2708 x 1433)"
};

std::unique_ptr<ByteStream> open_npy(const NpyLocation& location);

struct MatrixShape {
  uint64_t rows = 0;
  uint64_t columns = 0;
};
// The shape of a feature matrix. Throws Error{input} if the array does not have two dimensions.
MatrixShape npy_matrix_shape(const NpyLocation& location);

// Shape (N, F), any dtype. Also reads a matrix that is stored column by column, if it is small
// enough (NpyColumnFeatures).
std::unique_ptr<FeatureReader> open_npy_features(const NpyLocation& location);

// Integers of shape (2, E), all sources and then all destinations, or (E, 2), in row or column
// order. In an array of shape (2, 2) the first row are sources, the second destinations.
std::unique_ptr<EdgeReader> open_npy_edges(const NpyLocation& location, uint64_t nodes);

// Shape (N,) or (N, 1).
std::unique_ptr<LabelReader> open_npy_labels(const NpyLocation& location, StatedCount nodes);

// Shape (n,) or (n, 1), integers.
std::unique_ptr<IdListReader> open_npy_ids(const NpyLocation& location, uint64_t nodes);

// A split as a mask: one value per node, true for the nodes of the split. Shape (nodes,) or
// (nodes, 1), bool or integers that are 0 or 1; or (nodes, splits), where `column` selects one.
std::unique_ptr<IdListReader> open_npy_mask(const NpyLocation& location, const StatedCount& nodes,
                                            std::optional<uint64_t> column);

// Reads an array with a single count, such as OGB's num_nodes_list.
StatedCount read_npy_count(const NpyLocation& location);

// Feature matrices that are stored column by column (fortran_order): numpy saves the result of an
// SVD or a transposition like this. One pass over the whole array collects a panel, a range of
// rows. So the panel bounds the memory, but time grows with the square of the array; large arrays
// are refused.
class NpyColumnFeatures final : public FeatureReader {
 public:
  static constexpr uint64_t kPanelBytes = uint64_t{16} << 20;
  static constexpr uint64_t kMaxPanels = 64;

  // `panel_bytes` bounds the memory. Throws Error{input} if more than kMaxPanels panels are needed.
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
