#include "gpu/resident_store.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "gpu/network.h"
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
    files_[kOffsets] = load({.path = offsets,
                             .tag = "adjacency",
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
    files_[kNeighbors] =
        load({.path = neighbors,
              .tag = "adjacency",
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
  first_cold_row_ = end == features_bytes ? meta.nodes : end / meta.row_bytes;
  files_[kFeatures] =
      load({.path = store.features_file(),
            .tag = "features",
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

ResidentStore::SplitFile ResidentStore::load(const FileToLoad& wanted, memory::Ledger& host) {
  SplitFile file{.line = wanted.line};
  file.near = {device_, wanted.tag, wanted.line};
  {
    const memory::Buffer<std::byte> staging(host, "loading", std::min(kLoadingBytes, wanted.bytes));
    const Revealed revealed =
        wanted.line > 0 ? Revealed(device_, staging.data(), staging.size()) : Revealed();
    for (uint64_t begin = 0; begin < wanted.line; begin += staging.size()) {
      const auto piece = staging.first(std::min(staging.size(), wanted.line - begin));
      io::load({.path = wanted.path, .begin = begin, .out = piece}, wanted.threads,
               wanted.on_piece);
      wanted.in_order(piece);
      device_.upload(file.near.data() + begin, piece.data(), piece.size());
    }
  }
  if (wanted.line == wanted.bytes) return file;
  file.far = memory::Pages(host, "rows for the GPU", wanted.bytes - wanted.line);
  const std::span<std::byte> out(static_cast<std::byte*>(file.far.data()),
                                 wanted.bytes - wanted.line);
  io::load({.path = wanted.path, .begin = wanted.line, .out = out}, wanted.threads,
           wanted.on_piece);
  wanted.in_order(out);
  file.revealed = {device_, file.far.data(), out.size()};
  return file;
}

StoreView ResidentStore::view() const {
  StoreView view{.lists = {files_[kOffsets].bytes(), files_[kNeighbors].bytes()}, .rows = rows_};
  view.rows.file = files_[kFeatures].bytes();
  return view;
}

}  // namespace plimsoll::gpu
