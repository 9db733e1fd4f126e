#include "feature/rows.h"

#include <span>
#include <utility>

#include "io/load.h"

namespace plimsoll::feature {

ResidentRows::ResidentRows(memory::Buffer<std::byte> bytes, kernel::Rows shape)
    : bytes_(std::move(bytes)), rows_(shape) {
  rows_.data = reinterpret_cast<const unsigned char*>(bytes_.data());
}

ResidentRows load_rows(const graph::Store& store, memory::Ledger& ledger, unsigned threads,
                       const std::function<void(uint64_t bytes)>& on_bytes) {
  const graph::Meta& meta = store.meta();
  auto bytes = io::load_array<std::byte>(
      ledger, "features", store.features_file(), meta.nodes * meta.row_bytes, threads,
      [&](std::span<const std::byte> piece) { on_bytes(piece.size()); });
  return {std::move(bytes),
          {.row_bytes = meta.row_bytes,
           .count = meta.nodes,
           .columns = static_cast<uint32_t>(meta.feature_columns),
           .half = meta.feature_type == graph::FeatureType::f16}};
}

}  // namespace plimsoll::feature
