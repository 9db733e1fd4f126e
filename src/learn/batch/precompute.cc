#include "batch/precompute.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/half.h"
#include "base/units.h"
#include "batch/assemble.h"
#include "batch/neighbor_sums.h"
#include "graph/store.h"
#include "io/file.h"

namespace plimsoll::batch {
namespace {

using graph::FirstLayer;

void check_memory(const graph::Meta& meta, const memory::Ledger& ledger, unsigned threads) {
  // The writer of the new file takes as much as a reader.
  const uint64_t needed =
      neighbor_sums_bytes(meta, threads) + io::kStreamBytes + 2 * meta.row_bytes;
  const uint64_t free_bytes = ledger.available_bytes();
  if (free_bytes >= needed) return;
  fail(ErrorKind::memory, "the sums need {} of memory, and {} are left; raise --memory by {}",
       format_bytes_up(needed), format_bytes(free_bytes), format_bytes_up(needed - free_bytes));
}

// The id that the node at `position` has in the source.
uint32_t original_id(const graph::Store& store, uint64_t position) {
  std::ifstream ids(store.file("ids.u32"), std::ios::binary);
  uint32_t id = 0;
  ids.seekg(static_cast<std::streamoff>(position * sizeof id));
  ids.read(reinterpret_cast<char*>(&id), sizeof id);
  return id;
}

// Appends values as rows of a store, in the order of positions.
class RowWriter {
 public:
  RowWriter(io::FileWriter& file, const graph::Store& store, const graph::Meta& meta,
            memory::Ledger& ledger)
      : file_(file),
        store_(store),
        half_(meta.feature_type == graph::FeatureType::f16),
        row_(ledger, "rows written", meta.row_bytes) {
    std::memset(row_.data(), 0, meta.row_bytes);
  }

  void append(const Matrix& sums, const Matrix& own) {
    for (uint64_t i = 0; i < sums.rows; ++i) {
      const size_t used = put({sums.data + i * sums.columns, sums.columns}, 0);
      if (own.data != nullptr) put({own.data + i * own.columns, own.columns}, used);
      file_.append(row_.span());
      ++position_;
    }
  }

 private:
  size_t put(std::span<const float> values, size_t begin) {
    const float limit = half_ ? kHalfOverflow : INFINITY;
    bool all_fit = true;
    for (const float value : values) all_fit &= std::fabs(value) < limit;
    if (!all_fit) refuse(values, limit);
    std::byte* to = row_.data() + begin;
    if (!half_) {
      std::memcpy(to, values.data(), values.size_bytes());
      return begin + values.size_bytes();
    }
    to_half(values, {reinterpret_cast<uint16_t*>(to), values.size()});
    return begin + values.size() * sizeof(uint16_t);
  }

  [[noreturn]] void refuse(std::span<const float> values, float limit) const {
    const auto bad = std::find_if(values.begin(), values.end(),
                                  [&](float value) { return !(std::fabs(value) < limit); });
    fail(ErrorKind::input, "{}, node {}: the sum of its neighbours' column {} is {}, {}",
         store_.folder().string(), original_id(store_, position_), bad - values.begin(), *bad,
         std::isfinite(*bad) ? "which does not fit f16 (at most 65504); give --feature-type f32"
                             : "beyond single precision; scale the features down before importing");
  }

  io::FileWriter& file_;
  const graph::Store& store_;
  bool half_;
  memory::Buffer<std::byte> row_;
  uint64_t position_ = 0;
};

graph::Meta meta_of_sums(const graph::Store& store, const PrecomputeOptions& options) {
  graph::Meta meta = store.meta();
  meta.first_layer = options.model;
  meta.feature_type = options.type.value_or(meta.feature_type);
  if (options.model == FirstLayer::sage) meta.feature_columns *= 2;
  if (meta.feature_columns > graph::kMostColumns) {
    fail(ErrorKind::input, "sage's sums of {} would have {} columns, a store has at most {}",
         store.folder().string(), meta.feature_columns, graph::kMostColumns);
  }
  meta.row_bytes = graph::padded_row_bytes(meta.feature_type, meta.feature_columns);
  return meta;
}

void check_room(const graph::Meta& meta, const std::filesystem::path& out) {
  const std::filesystem::path parent = out.has_parent_path() ? out.parent_path() : ".";
  const uint64_t bytes = meta.nodes * meta.row_bytes;
  const uint64_t free_bytes = io::disk_of(parent).free_bytes;
  if (free_bytes >= bytes) return;
  fail(ErrorKind::disk, "the sums of all nodes take {}, and the disk of {} has {} free",
       format_bytes(bytes), out.string(), format_bytes(free_bytes));
}

}  // namespace

graph::Meta precompute(const graph::Store& store, const PrecomputeOptions& options,
                       memory::Ledger& ledger, Progress& progress) {
  if (store.meta().first_layer != FirstLayer::none) {
    fail(ErrorKind::usage, "{} already holds a first layer's sums; give the store it was made from",
         store.folder().string());
  }
  std::error_code none;
  if (std::filesystem::equivalent(store.folder(), options.out, none)) {
    fail(ErrorKind::usage, "--out {} is the store itself; choose another folder for the sums",
         options.out.string());
  }
  check_memory(store.meta(), ledger, options.threads);
  graph::Meta meta = meta_of_sums(store, options);
  check_room(meta, options.out);
  graph::StoreWriter writer(options.out, options.replace, ledger);
  const std::string features = store.features_file().filename().string();
  for (const auto& [name, about] : store.meta().files) {
    if (name != features) writer.take_file(name, store.file(name), about);
  }
  progress.start_step("summing neighbours", "nodes", meta.nodes);
  RowWriter rows(writer.open_file(graph::features_name(meta.feature_type)), store, meta, ledger);
  double share = 0;
  uint64_t shown = 0;
  const Assembly assembly = assembly_for(model_of(options.model), recipe::Norm::full);
  sum_neighbors(store,
                {.weighting = assembly.weighting,
                 .own = assembly.input == Input::aggregated_and_own,
                 .threads = options.threads},
                ledger,
                {.on_sums = [&](const Matrix& sums, const Matrix& own) { rows.append(sums, own); },
                 .on_progress =
                     [&](double more) {
                       share = std::min(1.0, share + more);
                       const auto done =
                           static_cast<uint64_t>(share * static_cast<double>(meta.nodes));
                       progress.add(done - shown);
                       shown = done;
                     }});
  writer.close_file();
  writer.commit(meta);
  return meta;
}

}  // namespace plimsoll::batch
