#include "gpu/resident_store.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "graph/meta.h"
#include "io/file.h"
#include "sample/topology.h"

namespace plimsoll::gpu {

uint64_t ResidentStore::line_at(uint64_t file_bytes, uint64_t line_bytes, uint64_t value_bytes) {
  if (line_bytes >= file_bytes) return file_bytes;
  const uint64_t step = std::lcm(io::kBlockBytes, std::max<uint64_t>(1, value_bytes));
  return line_bytes / step * step;
}

uint64_t ResidentStore::device_bytes(uint64_t file_bytes, uint64_t line_bytes) {
  return Array<uint8_t>::bytes_needed(std::min(file_bytes, line_bytes));
}

uint64_t ResidentStore::host_bytes(uint64_t file_bytes, uint64_t line_bytes) {
  return memory::Buffer<std::byte>::bytes_needed(file_bytes - std::min(file_bytes, line_bytes));
}

ResidentStore::ResidentStore(const graph::Store& store, Accelerator& device, memory::Ledger& host,
                             const StoreLines& lines, unsigned threads,
                             const std::function<void(uint64_t bytes)>& on_bytes)
    : device_(device) {
  const graph::Meta& meta = store.meta();
  const auto counted = [&](std::span<const std::byte> piece) { on_bytes(piece.size()); };
  if (lines.lists) {
    const uint64_t offsets_bytes = (meta.nodes + 1) * sizeof(uint64_t);
    const std::string offsets = store.file("offsets.u64").string();
    sample::OffsetsCheck check(offsets, meta.edges);
    parts_[kOffsets] = load({.path = offsets,
                             .bytes = offsets_bytes,
                             .line = line_at(offsets_bytes, lines.offsets_bytes, sizeof(uint64_t)),
                             .threads = threads,
                             .on_piece = counted,
                             .in_order =
                                 [&](std::span<const std::byte> piece) {
                                   check.add({reinterpret_cast<const uint64_t*>(piece.data()),
                                              piece.size() / sizeof(uint64_t)});
                                 }},
                            host);
    check.finish();
    const uint64_t neighbors_bytes = meta.edges * sizeof(uint32_t);
    const std::string neighbors = store.file("neighbors.u32").string();
    parts_[kNeighbors] =
        load({.path = neighbors,
              .bytes = neighbors_bytes,
              .line = line_at(neighbors_bytes, lines.neighbors_bytes, sizeof(uint32_t)),
              .threads = threads,
              .on_piece =
                  [&](std::span<const std::byte> piece) {
                    sample::check_neighbors(neighbors,
                                            {reinterpret_cast<const uint32_t*>(piece.data()),
                                             piece.size() / sizeof(uint32_t)},
                                            meta.nodes);
                    counted(piece);
                  },
              .in_order = [](std::span<const std::byte>) {}},
             host);
  }
  const uint64_t features_bytes = meta.nodes * meta.row_bytes;
  const uint64_t end = line_at(features_bytes, lines.features_end_bytes, meta.row_bytes);
  parts_[kFeatures] =
      load({.path = store.features_file(),
            .bytes = end,
            .line = std::min(end, line_at(features_bytes, lines.features_bytes, meta.row_bytes)),
            .threads = threads,
            .on_piece = counted,
            .in_order = [](std::span<const std::byte>) {}},
           host);
  const bool half = meta.feature_type == graph::FeatureType::f16;
  const uint64_t lane_bytes = kLane * (half ? sizeof(uint16_t) : sizeof(float));
  rows_ = {.row_bytes = meta.row_bytes,
           .columns = static_cast<uint32_t>(meta.feature_columns),
           .half = half ? 1U : 0U,
           // Rows are padded.
           .packed = meta.row_bytes % lane_bytes == 0 ? 1U : 0U};
}

ResidentStore::Part ResidentStore::load(const Loading& loading, memory::Ledger& host) {
  Part part{.line = loading.line};
  part.near = {device_, "store", loading.line};
  {
    const memory::Buffer<std::byte> staging(host, "loading",
                                            std::min(kLoadingBytes, loading.bytes));
    const Revealed revealed =
        loading.line > 0 ? Revealed(device_, staging.data(), staging.size()) : Revealed();
    for (uint64_t begin = 0; begin < loading.line; begin += staging.size()) {
      const auto piece = staging.first(std::min(staging.size(), loading.line - begin));
      io::load({.path = loading.path, .begin = begin, .out = piece}, loading.threads,
               loading.on_piece);
      loading.in_order(piece);
      device_.upload(part.near.data() + begin, piece.data(), piece.size());
    }
  }
  if (loading.line == loading.bytes) return part;
  part.far = memory::Pages(host, "rows for the GPU", loading.bytes - loading.line);
  const std::span<std::byte> out(static_cast<std::byte*>(part.far.data()),
                                 loading.bytes - loading.line);
  io::load({.path = loading.path, .begin = loading.line, .out = out}, loading.threads,
           loading.on_piece);
  loading.in_order(out);
  part.revealed = {device_, part.far.data(), out.size()};
  return part;
}

StoreView ResidentStore::view() const {
  StoreView view{.lists = {parts_[kOffsets].bytes(), parts_[kNeighbors].bytes()}, .rows = rows_};
  view.rows.file = parts_[kFeatures].bytes();
  return view;
}

}  // namespace plimsoll::gpu
