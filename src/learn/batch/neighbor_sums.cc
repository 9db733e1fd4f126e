#include "batch/neighbor_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/parallel.h"
#include "base/units.h"
#include "batch/assemble.h"
#include "batch/row_slices.h"
#include "io/file.h"
#include "io/random_read.h"
#include "kernel/kernels.h"
#include "memory/buffer.h"

namespace plimsoll::batch {
namespace {

constexpr uint64_t kLeastSliceBytes = kMiB;
constexpr uint64_t kMostSliceBytes = 256 * kMiB;
constexpr uint64_t kSlicePart = 8;  // 1/8 of the memory is for one slice
constexpr uint64_t kLeastChunkBytes = 2 * kMiB;
constexpr uint64_t kBlockNodes = 256;   // nodes that a thread takes at a time
constexpr uint64_t kBlockEdges = 2048;  // summed at a time: their rows fit into a core's cache

// The lists of one block that are summed at a time.
struct Scratch {
  std::array<uint32_t, kBlockNodes + 1> offsets = {};
  std::array<uint32_t, kBlockEdges> indices = {};
};

class Summing {
 public:
  Summing(const graph::Store& store, const NeighborSumsOptions& options, memory::Ledger& ledger,
          const NeighborSumsEvents& events);
  void run();

 private:
  // The part of the next list that no chunk has taken yet.
  struct Rest {
    uint64_t node = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t degree = 0;  // of the node
    bool begun = false;   // an earlier chunk has the beginning
  };
  struct Chunk {
    uint64_t first = 0;  // node
    uint64_t count = 0;
    uint64_t edges = 0;
    uint64_t first_degree = 0;
    bool begun = false;  // the first list began in an earlier chunk
    bool ended = true;   // the last list ends in this chunk
  };
  struct Range {
    uint64_t first = 0;
    uint64_t last = 0;
  };

  uint64_t next_offset();
  void next_list();
  void take_chunk();
  Range rows_of_chunk() const;
  void sum_chunk();
  void load(RowSlice& slice, uint64_t first) const;
  void add_slice(const RowSlice& slice);
  void add_block(const RowSlice& slice, Range nodes, Scratch& scratch);
  uint32_t collect(const RowSlice& slice, Range& nodes, Scratch& scratch);
  void hand_over();
  void scale(float* sums, const float* own, uint64_t degree) const;

  kernel::Rows rows_at(const std::byte* bytes, uint64_t count) const {
    return {.data = reinterpret_cast<const unsigned char*>(bytes),
            .row_bytes = meta_.row_bytes,
            .count = count,
            .columns = static_cast<uint32_t>(columns_),
            .half = meta_.feature_type == graph::FeatureType::f16};
  }
  float* sums() const { return reinterpret_cast<float*>(room_.data()); }
  uint32_t* lists() const { return reinterpret_cast<uint32_t*>(sums() + chunk_.count * columns_); }

  const graph::Meta& meta_;
  const NeighborSumsOptions options_;
  const NeighborSumsEvents& events_;
  const uint64_t columns_;
  const bool gcn_;
  const StoreFile rows_file_;
  const StoreFile offsets_file_;
  const StoreFile lists_file_;
  io::FileReader offsets_reader_;
  io::FileReader lists_reader_;
  io::FileReader own_reader_;
  uint64_t slice_rows_ = 0;
  std::vector<RowSlice> slices_;     // one is read while the other is added
  memory::Buffer<std::byte> room_;   // the sums of the chunk, then its lists
  memory::Buffer<uint64_t> places_;  // how far each list is summed, as an index of lists()
  memory::Buffer<uint64_t> ends_;    // where it ends
  memory::Buffer<std::byte> own_bytes_;
  memory::Buffer<float> own_;
  std::vector<float> carried_;  // the sum so far of a list that goes on in the next chunk
  Rest rest_;
  Chunk chunk_;
};

Summing::Summing(const graph::Store& store, const NeighborSumsOptions& options,
                 memory::Ledger& ledger, const NeighborSumsEvents& events)
    : meta_(store.meta()),
      options_(options),
      events_(events),
      columns_(meta_.feature_columns),
      gcn_(options.weighting == Weighting::gcn_full),
      rows_file_(store.features_file()),
      offsets_file_(store.file("offsets.u64")),
      lists_file_(store.file("neighbors.u32")),
      offsets_reader_(ledger, offsets_file_.opened),
      lists_reader_(ledger, lists_file_.opened),
      own_reader_(ledger, rows_file_.opened),
      own_bytes_(ledger, "rows", kBlockNodes * meta_.row_bytes),
      own_(ledger, "rows", kBlockNodes * columns_),
      carried_(columns_) {
  const uint64_t available = ledger.available_bytes();
  slice_rows_ =
      rows_of_slices(meta_, std::clamp(available / kSlicePart, kLeastSliceBytes, kMostSliceBytes));
  for (int i = 0; i < 2; ++i) slices_.emplace_back(ledger, slice_rows_, meta_.row_bytes, gcn_);
  const uint64_t left = ledger.available_bytes() - 3 * memory::kPageBytes;
  const uint64_t row = columns_ * sizeof(float);
  const uint64_t nodes = std::clamp<uint64_t>(left / (row + 2 * sizeof(uint64_t)), 1, meta_.nodes);
  places_ = {ledger, "sums", nodes};
  ends_ = {ledger, "sums", nodes};
  const uint64_t most = row * meta_.nodes + sizeof(uint32_t) * meta_.edges;
  room_ = {ledger, "sums", std::min(most, left - 2 * sizeof(uint64_t) * nodes)};
}

uint64_t Summing::next_offset() {
  uint64_t value = 0;
  if (offsets_reader_.read_values(std::span(&value, 1)) != 1) {
    offsets_file_.refuse("it ends before its last list");
  }
  return value;
}

void Summing::next_list() {
  rest_ = {.node = rest_.node + 1, .begin = rest_.end, .end = rest_.end};
  if (rest_.node == meta_.nodes) return;
  rest_.end = next_offset();
  if (rest_.end < rest_.begin || rest_.end > meta_.edges) {
    offsets_file_.refuse(fmt::format("list {} ends at {}, the one before at {}", rest_.node,
                                     rest_.end, rest_.begin));
  }
  rest_.degree = rest_.end - rest_.begin;
}

// As many lists as fit, or a part of one.
void Summing::take_chunk() {
  chunk_ = {.first = rest_.node, .first_degree = rest_.degree, .begun = rest_.begun};
  while (chunk_.ended && rest_.node < meta_.nodes && chunk_.count < places_.size()) {
    const uint64_t used =
        (chunk_.count + 1) * columns_ * sizeof(float) + chunk_.edges * sizeof(uint32_t);
    if (used > room_.size()) break;
    const uint64_t fitting = (room_.size() - used) / sizeof(uint32_t);
    const uint64_t length = rest_.end - rest_.begin;
    if (length > fitting && chunk_.count > 0) break;
    const uint64_t part = std::min(length, fitting);
    places_[chunk_.count] = chunk_.edges;
    ends_[chunk_.count] = chunk_.edges + part;
    chunk_.edges += part;
    ++chunk_.count;
    chunk_.ended = part == length;
    if (chunk_.ended) {
      next_list();
    } else {
      rest_.begin += part;
      rest_.begun = true;
    }
  }
  std::fill_n(sums(), chunk_.count * columns_, 0.0F);
  if (chunk_.begun) std::ranges::copy(carried_, sums());
  if (lists_reader_.read_values(std::span(lists(), chunk_.edges)) != chunk_.edges) {
    lists_file_.refuse("it ends before its last list");
  }
}

Summing::Range Summing::rows_of_chunk() const {
  Range range = {.first = meta_.nodes, .last = 0};
  for (uint64_t i = 0; i < chunk_.count; ++i) {
    if (places_[i] == ends_[i]) continue;
    range.first = std::min<uint64_t>(range.first, lists()[places_[i]]);
    range.last = std::max<uint64_t>(range.last, uint64_t{lists()[ends_[i] - 1]} + 1);
  }
  if (range.last > meta_.nodes) {
    lists_file_.refuse(fmt::format("it names node {} of {}", range.last - 1, meta_.nodes));
  }
  return range;
}

void Summing::sum_chunk() {
  const Range rows = rows_of_chunk();
  const double share = static_cast<double>(chunk_.edges + chunk_.count) /
                       static_cast<double>(meta_.edges + meta_.nodes);
  const uint64_t first = rows.first / slice_rows_ * slice_rows_;
  if (rows.last <= first) {
    events_.on_progress(share);
    return;
  }
  const uint64_t slices = (rows.last - first + slice_rows_ - 1) / slice_rows_;
  load(slices_[0], first);
  size_t now = 0;
  for (uint64_t at = first; at < rows.last; at += slice_rows_, now = 1 - now) {
    throw_if_interrupted();
    std::future<void> reading;
    if (at + slice_rows_ < rows.last) {
      reading =
          std::async(std::launch::async, [&, at] { load(slices_[1 - now], at + slice_rows_); });
    }
    add_slice(slices_[now]);
    if (reading.valid()) reading.get();
    events_.on_progress(share / static_cast<double>(slices));
  }
  for (uint64_t i = 0; i < chunk_.count; ++i) {
    if (places_[i] != ends_[i]) {
      lists_file_.refuse(fmt::format("list {} is not in ascending order", chunk_.first + i));
    }
  }
}

void Summing::load(RowSlice& slice, uint64_t first) const {
  slice.load(first, {.meta = meta_,
                     .rows = rows_file_,
                     .offsets = gcn_ ? &offsets_file_ : nullptr,
                     .most_rows = slice_rows_});
}

void Summing::add_slice(const RowSlice& slice) {
  const uint64_t blocks = (chunk_.count + kBlockNodes - 1) / kBlockNodes;
  std::atomic<uint64_t> next = 0;
  run_team(options_.threads, [&](Team& team) {
    const auto scratch = std::make_unique<Scratch>();
    for (uint64_t i = next++; i < blocks && !team.stopping(); i = next++) {
      add_block(slice, {i * kBlockNodes, std::min(chunk_.count, (i + 1) * kBlockNodes)}, *scratch);
    }
  });
}

// Adds the rows of the slice to the sums of these nodes.
void Summing::add_block(const RowSlice& slice, Range nodes, Scratch& scratch) {
  while (nodes.first < nodes.last) {
    const uint64_t first = nodes.first;
    const uint32_t count = collect(slice, nodes, scratch);
    const auto& offsets = scratch.offsets;
    // A node without edges in this slice is left alone: its sum need not be loaded.
    for (uint32_t i = 0; i < count;) {
      uint32_t last = i;
      while (last < count && offsets[last] < offsets[last + 1]) ++last;
      if (last > i) {
        kernel::best().aggregate({.rows = rows_at(slice.bytes.data(), slice.count),
                                  .offsets = offsets.data(),
                                  .indices = scratch.indices.data(),
                                  .source_scale = gcn_ ? slice.weights.data() : nullptr,
                                  .onto_out = true,
                                  .out = sums() + first * columns_,
                                  .first = i,
                                  .last = last});
      }
      i = last + 1;
    }
  }
}

// The edges of some nodes in the slice, as many as fit. Returns the number of nodes, and moves
// `nodes.first` behind those that are done.
uint32_t Summing::collect(const RowSlice& slice, Range& nodes, Scratch& scratch) {
  const uint32_t* const all = lists();
  const uint64_t end = slice.first + slice.count;
  uint32_t count = 0;
  uint32_t edges = 0;
  while (nodes.first < nodes.last && edges < kBlockEdges) {
    uint64_t& place = places_[nodes.first];
    const uint64_t list_end = ends_[nodes.first];
    for (; place < list_end && all[place] < end && edges < kBlockEdges; ++place) {
      if (all[place] < slice.first) {
        lists_file_.refuse(
            fmt::format("list {} is not in ascending order", chunk_.first + nodes.first));
      }
      const uint64_t row = all[place] - slice.first;
      const std::byte* const bytes = slice.bytes.data() + row * meta_.row_bytes;
      for (uint64_t at = 0; at < meta_.row_bytes; at += 64) __builtin_prefetch(bytes + at);
      scratch.indices[edges++] = static_cast<uint32_t>(row);
    }
    scratch.offsets[++count] = edges;
    if (place < list_end && all[place] < end) break;  // more of this list
    ++nodes.first;
  }
  return count;
}

// As the assembler does for a batch (assemble.cc).
void Summing::scale(float* sums, const float* own, uint64_t degree) const {
  if (!gcn_) {
    const float weight = degree == 0 ? 0 : 1.0F / static_cast<float>(degree);
    for (uint64_t i = 0; i < columns_; ++i) sums[i] = weight * sums[i];
    return;
  }
  const float root = one_over_root(degree + 1);
  const float weight = degree == 0 ? 0 : root;
  const float self = root * root;
  for (uint64_t i = 0; i < columns_; ++i) sums[i] = weight * sums[i] + self * own[i];
}

void Summing::hand_over() {
  const uint64_t done = chunk_.ended ? chunk_.count : chunk_.count - 1;
  for (uint64_t first = 0; first < done; first += kBlockNodes) {
    const uint64_t count = std::min(kBlockNodes, done - first);
    if (gcn_ || options_.own) {
      const auto bytes = own_bytes_.first(count * meta_.row_bytes);
      if (own_reader_.read_some(bytes) != bytes.size()) rows_file_.refuse("it ends too early");
      kernel::best().gather(
          {.rows = rows_at(own_bytes_.data(), count), .out = own_.data(), .last = count});
    }
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t node = first + i;
      const uint64_t begin = node == 0 ? 0 : ends_[node - 1];
      const uint64_t degree = node == 0 ? chunk_.first_degree : ends_[node] - begin;
      scale(sums() + node * columns_, own_.data() + i * columns_, degree);
    }
    const Matrix own = {own_.data(), count, columns_};
    events_.on_sums({sums() + first * columns_, count, columns_}, options_.own ? own : Matrix{});
  }
  if (done == chunk_.count) return;
  std::copy_n(sums() + done * columns_, columns_, carried_.begin());
}

void Summing::run() {
  if (meta_.nodes == 0) return;
  if (const uint64_t first = next_offset(); first != 0) {
    offsets_file_.refuse(fmt::format("the first list begins at {}", first));
  }
  rest_.end = rest_.degree = next_offset();
  if (rest_.end > meta_.edges) {
    offsets_file_.refuse(fmt::format("list 0 ends at {} of {}", rest_.end, meta_.edges));
  }
  while (rest_.node < meta_.nodes) {
    take_chunk();
    sum_chunk();
    hand_over();
  }
  for (const StoreFile* file : {&rows_file_, &offsets_file_, &lists_file_}) {
    if (io::changed(file->file)) {
      fail(ErrorKind::store,
           "{} was changed while it was being read; what was read cannot be trusted. Import the "
           "graph again, or bring the file back",
           file->name);
    }
  }
}

}  // namespace

uint64_t neighbor_sums_bytes(const graph::Meta& meta, unsigned threads) {
  const uint64_t slice =
      RowSlice::bytes_needed(rows_of_slices(meta, kLeastSliceBytes), meta.row_bytes);
  const uint64_t own = memory::Buffer<std::byte>::bytes_needed(kBlockNodes * meta.row_bytes) +
                       memory::Buffer<float>::bytes_needed(kBlockNodes * meta.feature_columns);
  return 3 * io::kStreamBytes + 2 * slice + own + kLeastChunkBytes + threads * sizeof(Scratch) +
         8 * meta.feature_columns * sizeof(float);
}

void sum_neighbors(const graph::Store& store, const NeighborSumsOptions& options,
                   memory::Ledger& ledger, const NeighborSumsEvents& events) {
  Summing(store, options, ledger, events).run();
}

}  // namespace plimsoll::batch
