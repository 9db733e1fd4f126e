#include "batch/precompute.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "batch/first_layer.h"
#include "batch/pipeline.h"
#include "feature/row_source.h"
#include "graph/store.h"
#include "io/disk.h"
#include "io/file.h"
#include "sample/topology.h"

namespace plimsoll::batch {
namespace {

using graph::FirstLayer;
using recipe::ModelKind;

// Nodes of a batch. The hottest nodes come first and can have so many neighbours that fewer must
// be summed at a time.
constexpr std::array<uint64_t, 4> kBatchSizes = {2048, 256, 32, 4};
constexpr uint64_t kBatch = kBatchSizes.front();
// Memory per worker: for rows read from disk, and for the batches it makes.
constexpr uint64_t kLeastAreaBytes = kMiB;
constexpr uint64_t kMostAreaBytes = 16 * kMiB;
constexpr uint64_t kLeastBatchesBytes = 4 * kMiB;
constexpr uint64_t kMostBatchesBytes = 64 * kMiB;

constexpr uint64_t kLeastWindowBytes = 16 * kMiB;  // for the rows of one window
constexpr uint64_t kMostWindow = 4096;             // batches

// Up to a quarter of the memory is for the workers. Of the rest, a quarter is for the hottest rows,
// the others for two windows and the lists of their batches.
feature::RowLayout layout_for(uint64_t free_bytes, unsigned workers) {
  const uint64_t share = free_bytes / 4 / workers;
  const uint64_t area = std::clamp(share / 4, kLeastAreaBytes, kMostAreaBytes);
  const uint64_t kept = workers * (area + std::min(share / 4 * 3, kMostBatchesBytes));
  feature::RowLayout layout = {
      .line_bytes = free_bytes - std::min(free_bytes, kept), .areas = workers, .area_bytes = area};
  const uint64_t window = layout.line_bytes / 4 * 3 / kWindows;
  if (window < 2 * kLeastWindowBytes) return layout;
  layout.line_bytes /= 4;
  layout.windows = kWindows;
  layout.window_bytes = window / 4 * 3;
  return layout;
}

// As many batches as have room for their lists in a third of what the rows get.
WindowOptions windows_for(const feature::RowLayout& layout, const graph::Meta& meta,
                          const Assembly& assembly, unsigned threads) {
  if (layout.windows == 0) return {};
  const uint64_t edges = kBatch * (meta.edges / std::max<uint64_t>(1, meta.nodes) + 1);
  const uint64_t lists = sample::Neighborhood::bytes_needed(
      {.seeds = kBatch, .nodes = kBatch + edges, .hops = {{kBatch, edges}}},
      assembly.needs_all_degrees());
  return {.batches = static_cast<unsigned>(
              std::clamp<uint64_t>(layout.window_bytes / 3 / lists, 1, kMostWindow)),
          .bytes = layout.window_bytes,
          .threads = threads};
}

void check_memory(const memory::Ledger& ledger, unsigned workers) {
  const uint64_t needed = 2 * workers * (kLeastAreaBytes + kLeastBatchesBytes);
  const uint64_t free_bytes = ledger.available_bytes();
  if (free_bytes >= needed) return;
  fail(ErrorKind::memory,
       "with {} thread{} the sums need {} of memory, and {} are left; raise --memory by {}, or "
       "lower --threads",
       workers, workers == 1 ? "" : "s", format_bytes_up(needed), format_bytes(free_bytes),
       format_bytes_up(needed - free_bytes));
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

// Nodes first <= i < last, in batches of one size.
struct Stretch {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t batch = kBatch;
};

// Divides the nodes so that batches have at most that many edges, if they can. Batches do not get
// smaller from one stretch to the next.
std::vector<Stretch> stretches_of(const graph::Store& store, uint64_t most_edges,
                                  memory::Ledger& ledger) {
  const uint64_t nodes = store.meta().nodes;
  io::FileReader reader(ledger, store.file("offsets.u64"));
  const memory::Buffer<uint64_t> offsets(ledger, "file buffers", kBatch + 1);
  const uint64_t blocks = (nodes + kBatch - 1) / kBatch;
  const memory::Buffer<uint8_t> sizes(ledger, "file buffers", std::max<uint64_t>(1, blocks));
  if (reader.size_bytes() < (nodes + 1) * sizeof(uint64_t)) {
    fail(ErrorKind::store, "{} ends before its last list; import the graph again",
         store.file("offsets.u64").string());
  }
  reader.read_values(offsets.first(1));
  for (uint64_t block = 0; block < blocks; ++block) {
    const uint64_t count = reader.read_values(offsets.span().subspan(1));
    const auto fits = [&](uint64_t size) {
      for (uint64_t i = 0; i < count; i += size) {
        if (offsets[std::min(i + size, count)] - offsets[i] > most_edges) return false;
      }
      return true;
    };
    uint8_t size = 0;
    while (size + 1U < kBatchSizes.size() && !fits(kBatchSizes.at(size))) ++size;
    sizes[block] = size;
    offsets[0] = offsets[count];
  }
  uint8_t smallest = 0;
  for (uint64_t block = blocks; block-- > 0;) {
    smallest = std::max(smallest, sizes[block]);
    sizes[block] = smallest;
  }
  std::vector<Stretch> stretches;
  for (uint64_t block = 0; block < blocks; ++block) {
    const uint64_t batch = kBatchSizes.at(sizes[block]);
    if (stretches.empty() || stretches.back().batch != batch) {
      stretches.push_back({.first = block * kBatch, .batch = batch});
    }
    stretches.back().last = std::min(nodes, (block + 1) * kBatch);
  }
  return stretches;
}

void write_sums(const graph::Store& store, const PrecomputeOptions& options, RowWriter& rows,
                memory::Ledger& ledger, Progress& progress) {
  // Lists are read in order, so keeping them in memory would save nothing; rows get the memory.
  const sample::Topology topology =
      sample::load_topology(store, ledger, {0, 0}, options.threads, [](uint64_t) {});
  const unsigned workers = options.threads;
  const feature::RowLayout layout = layout_for(ledger.available_bytes(), workers);
  const uint64_t most_edges =
      std::max(layout.area_bytes, layout.window_bytes) / store.meta().row_bytes;
  const std::vector<Stretch> stretches = stretches_of(store, most_edges, ledger);
  const feature::RowSource source =
      feature::load_rows(store, ledger, layout, options.threads, [](uint64_t) {});
  const memory::Ledger::Reclaimer lower =
      ledger.on_shortage([&](uint64_t bytes) { source.file().lower_by(bytes); });
  const Assembly assembly = assembly_for(model_of(options.model), recipe::Norm::full);
  Pipeline pipeline(topology, source,
                    {.fanout = {recipe::kAllNeighbors},
                     .assembly = assembly,
                     .workers = workers,
                     .slots = workers + 2,
                     .window = windows_for(layout, store.meta(), assembly, workers)},
                    ledger);
  for (const Stretch& stretch : stretches) {
    pipeline.start({.seeds = Seeds::all(stretch.last),
                    .batch_size = stretch.batch,
                    .first_batch = stretch.first / stretch.batch});
    while (const Batch* batch = pipeline.take()) {
      rows.append(batch->input, batch->own);
      progress.add(batch->seeds);
      pipeline.give_back(batch);
      throw_if_interrupted();
    }
  }
  for (const io::LinedFile* file : {&source.file(), &topology.neighbors(), &topology.offsets()}) {
    file->check_unchanged();
  }
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
  check_memory(ledger, options.threads);
  graph::Meta meta = meta_of_sums(store, options);
  check_room(meta, options.out);
  graph::StoreWriter writer(options.out, options.replace, ledger);
  const std::string features = store.features_file().filename().string();
  for (const auto& [name, about] : store.meta().files) {
    if (name != features) writer.take_file(name, store.file(name), about);
  }
  progress.start_step("summing neighbours", "nodes", meta.nodes);
  RowWriter rows(writer.open_file(graph::features_name(meta.feature_type)), store, meta, ledger);
  write_sums(store, options, rows, ledger, progress);
  writer.close_file();
  writer.commit(meta);
  return meta;
}

}  // namespace plimsoll::batch
