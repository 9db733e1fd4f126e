// Edges, features, labels and node lists from npy arrays: files of their own or members of an npz.
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

// Where an array lies, so that it can be opened as often as it is needed.
struct NpyLocation {
  std::filesystem::path file;
  std::string member;  // empty: the file is the array

  std::string words() const;                            // for messages
  std::string describe(const NpyHeader& header) const;  // "x (float32, 2708 x 1433)"
};

std::unique_ptr<ByteStream> open_npy(const NpyLocation& location);

// The two extents of a feature matrix; throws unless it has two.
struct MatrixShape {
  uint64_t rows = 0;
  uint64_t columns = 0;
};
MatrixShape npy_matrix_shape(const NpyLocation& location);

// Shape (N, F), any dtype. A matrix that lies column by column is read too, if it is not too large
// to be turned in pieces.
std::unique_ptr<FeatureReader> open_npy_features(const NpyLocation& location);

// Integers of shape (2, E), all sources and then all destinations, or (E, 2), in row or column
// order. Of (2, 2) the rows are sources and destinations.
std::unique_ptr<EdgeReader> open_npy_edges(const NpyLocation& location, uint64_t nodes);

// Shape (N,) or (N, 1).
std::unique_ptr<LabelReader> open_npy_labels(const NpyLocation& location, StatedCount nodes);

// Shape (n,) or (n, 1), integers.
std::unique_ptr<IdListReader> open_npy_ids(const NpyLocation& location, uint64_t nodes);

// Shape (nodes,) or (nodes, 1), bool or integers that are 0 or 1; or (nodes, splits), of which
// `column` is read.
std::unique_ptr<IdListReader> open_npy_mask(const NpyLocation& location, const StatedCount& nodes,
                                            std::optional<uint64_t> column);

// A list of one count, as OGB's num_nodes_list.
StatedCount read_npy_count(const NpyLocation& location);

// Feature matrices that lie column by column (fortran_order), as numpy saves the result of an SVD
// or of a transposition. A panel of rows is gathered by one pass over the whole array, so memory is
// bounded by the panel and time grows with the square of the array: large ones are refused.

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
