#include "feature/row_source.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "io/file.h"

namespace plimsoll::feature {
namespace {

uint64_t round_up_bytes(uint64_t bytes, uint64_t step) { return (bytes + step - 1) / step * step; }

}  // namespace

// The row's sectors, at an offset that is a multiple of both the row's and the sector's size.
uint64_t RowSource::least_area_bytes(const RowShape& shape) {
  const uint64_t sector = io::kBlockBytes;
  return 2 * std::lcm(shape.row_bytes, sector) + round_up_bytes(shape.row_bytes, sector) + sector;
}

RowSource::RowSource(const kernel::Rows& rows, const memory::IndexSet* set)
    : shape_(rows),
      set_(set),
      file_(std::make_unique<io::LinedFile>(
          std::span(reinterpret_cast<const std::byte*>(rows.data), rows.count * rows.row_bytes))) {}

RowSource::RowSource(const File& file, memory::Ledger& ledger)
    : shape_(file.shape),
      set_(file.set),
      file_(std::make_unique<io::LinedFile>(
          ledger, file.tag, file.path,
          io::LinedFile::Shape{
              .bytes = file.shape.count * file.shape.row_bytes,
              .areas = file.areas,
              .area_bytes = std::max(file.area_bytes, least_area_bytes(file.shape)),
              .windows = file.windows,
              .window_bytes = file.window_bytes})) {}

RowSource load_rows(const graph::Store& store, memory::Ledger& ledger, const RowLayout& layout,
                    unsigned threads, const std::function<void(uint64_t bytes)>& on_bytes) {
  const graph::Meta& meta = store.meta();
  RowSource source({.path = store.features_file(),
                    .shape = {.row_bytes = meta.row_bytes,
                              .count = meta.nodes,
                              .columns = static_cast<uint32_t>(meta.feature_columns),
                              .half = meta.feature_type == graph::FeatureType::f16},
                    .areas = layout.areas,
                    .area_bytes = layout.area_bytes,
                    .windows = layout.windows,
                    .window_bytes = layout.window_bytes},
                   ledger);
  if (layout.shared) source.file().share(layout.line_bytes);
  source.file().raise(layout.line_bytes, threads,
                      [&](std::span<const std::byte> piece) { on_bytes(piece.size()); });
  return source;
}

}  // namespace plimsoll::feature
