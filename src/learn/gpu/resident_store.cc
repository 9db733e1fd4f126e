#include "gpu/resident_store.h"

#include <algorithm>
#include <span>

#include "graph/meta.h"
#include "io/file.h"
#include "sample/topology.h"

namespace plimsoll::gpu {
namespace {

uint64_t line_of(uint64_t file_bytes, uint64_t line_bytes) {
  return std::min(file_bytes, line_bytes);
}

}  // namespace

uint64_t ResidentStore::device_bytes(uint64_t file_bytes, uint64_t line_bytes) {
  return Array<uint8_t>::bytes_needed(line_of(file_bytes, line_bytes));
}

uint64_t ResidentStore::host_bytes(uint64_t file_bytes, uint64_t line_bytes) {
  return memory::Buffer<std::byte>::bytes_needed(file_bytes - line_of(file_bytes, line_bytes));
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
                             .line = line_of(offsets_bytes, lines.offsets_bytes),
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
              .line = line_of(neighbors_bytes, lines.neighbors_bytes),
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
  const auto whole_rows = [&](uint64_t bytes) {
    return line_of(features_bytes, bytes) / std::max<uint64_t>(1, meta.row_bytes) * meta.row_bytes;
  };
  const uint64_t end = whole_rows(lines.features_end_bytes);
  parts_[kFeatures] = load({.path = store.features_file(),
                            .bytes = end,
                            // A row does not lie across the line.
                            .line = std::min(end, whole_rows(lines.features_bytes)),
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

ResidentStore::~ResidentStore() {
  for (const Part& part : parts_) {
    if (part.revealed != nullptr) device_.conceal(part.far.data());
  }
}

ResidentStore::Part ResidentStore::load(const Loading& loading, memory::Ledger& host) {
  Part part{.line = loading.line};
  part.near = {device_, "store", loading.line};
  {
    const memory::Buffer<std::byte> staging(host, "loading",
                                            std::min(kLoadingBytes, loading.bytes));
    if (loading.line > 0) device_.reveal(staging.data(), staging.size());
    for (uint64_t begin = 0; begin < loading.line; begin += staging.size()) {
      const auto piece = staging.first(std::min(staging.size(), loading.line - begin));
      io::load({.path = loading.path, .begin = begin, .out = piece}, loading.threads,
               loading.on_piece);
      loading.in_order(piece);
      device_.upload(part.near.data() + begin, piece.data(), piece.size());
    }
    if (loading.line > 0) device_.conceal(staging.data());
  }
  if (loading.line == loading.bytes) return part;
  // Files are read from a multiple of a block on.
  const uint64_t block = loading.line / io::kBlockBytes * io::kBlockBytes;
  part.far = memory::Pages(host, "rows for the GPU", loading.bytes - block);
  const std::span<std::byte> out(static_cast<std::byte*>(part.far.data()), loading.bytes - block);
  io::load({.path = loading.path, .begin = block, .out = out}, loading.threads, loading.on_piece);
  loading.in_order(out.subspan(loading.line - block));
  part.revealed = static_cast<const std::byte*>(device_.reveal(part.far.data(), out.size())) +
                  (loading.line - block);
  return part;
}

StoreView ResidentStore::view() const {
  StoreView view{.lists = {parts_[kOffsets].bytes(), parts_[kNeighbors].bytes()}, .rows = rows_};
  view.rows.file = parts_[kFeatures].bytes();
  return view;
}

}  // namespace plimsoll::gpu
