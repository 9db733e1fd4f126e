#include "batch/layerwise.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "graph/meta.h"
#include "io/file.h"
#include "memory/growing.h"

namespace plimsoll::batch {
namespace {

constexpr uint64_t kNodesAtOnce = 8192;
constexpr uint64_t kPlacesAtOnce = 1 << 18;
constexpr const char* kTag = "node sets";

// Adds in-neighbours to sets. Reuses its arrays.
class Marker {
 public:
  Marker(const sample::Topology& topology, memory::Ledger& ledger)
      : lists_(topology, ledger, {}),
        nodes_(ledger, kTag, kNodesAtOnce),
        bounds_(ledger, kTag, kNodesAtOnce),
        places_(ledger, kTag, std::min(kPlacesAtOnce, topology.edges())),
        found_(ledger, kTag, std::min(kPlacesAtOnce, topology.edges())) {}

  static uint64_t bytes_needed(uint64_t edges, bool reads_disk) {
    const uint64_t places = std::min(kPlacesAtOnce, edges);
    return memory::Buffer<uint32_t>::bytes_needed(kNodesAtOnce) +
           memory::Buffer<sample::ListBounds>::bytes_needed(kNodesAtOnce) +
           memory::Buffer<uint64_t>::bytes_needed(places) +
           memory::Buffer<uint32_t>::bytes_needed(places) +
           (reads_disk ? io::ScatteredReader::bytes_needed({}, std::max(places, kNodesAtOnce)) : 0);
  }

  // Adds the seeds and their in-neighbours.
  void add(const Seeds& seeds, memory::IndexSet& set) {
    for (uint64_t first = 0; first < seeds.size(); first += kNodesAtOnce) {
      const uint64_t count = std::min(kNodesAtOnce, seeds.size() - first);
      for (uint64_t i = 0; i < count; ++i) {
        nodes_[i] = seeds.node(seeds.place(first + i));
        set.add(nodes_[i]);
      }
      add_neighbors(count, set);
      throw_if_interrupted();
    }
  }

 private:
  void add_neighbors(uint64_t node_count, memory::IndexSet& set) {
    lists_.bounds(nodes_.first(node_count), bounds_.data());
    uint64_t count = 0;
    for (uint64_t i = 0; i < node_count; ++i) {
      for (uint64_t done = 0; done < bounds_[i].degree; ++done) {
        places_[count++] = bounds_[i].begin + done;
        if (count < places_.size()) continue;
        add_places(count, set);
        count = 0;
      }
    }
    add_places(count, set);
  }

  void add_places(uint64_t count, memory::IndexSet& set) {
    lists_.neighbors(places_.first(count), found_.data());
    for (uint64_t i = 0; i < count; ++i) set.add(found_[i]);
  }

  sample::ListReader lists_;
  memory::Buffer<uint32_t> nodes_;
  memory::Buffer<sample::ListBounds> bounds_;
  memory::Buffer<uint64_t> places_;
  memory::Buffer<uint32_t> found_;
};

}  // namespace

std::vector<memory::IndexSet> needed_nodes(std::span<const Seeds> asked, size_t layers,
                                           const sample::Topology& topology,
                                           memory::Ledger& ledger) {
  std::vector<memory::IndexSet> sets;
  if (layers == 0) return sets;
  for (size_t i = 0; i < layers; ++i) sets.emplace_back(ledger, topology.nodes());
  Marker marker(topology, ledger);
  for (const Seeds& seeds : asked) marker.add(seeds, sets.back());
  sets.back().count();
  for (size_t i = layers - 1; i-- > 0;) {
    marker.add(Seeds::members(sets[i + 1]), sets[i]);
    sets[i].count();
  }
  return sets;
}

uint64_t node_sets_bytes(uint64_t nodes, size_t layers) {
  return layers * memory::IndexSet::bytes_needed(nodes);
}

uint64_t marking_bytes(uint64_t edges, bool reads_disk) {
  return Marker::bytes_needed(edges, reads_disk);
}

// ---- the output of a layer ----

namespace {

constexpr uint64_t kSparePart = 4;  // leave at least 1/4 of the available memory for batches
constexpr uint64_t kBlock = 4 * kMiB;

}  // namespace

uint64_t HiddenRows::least_bytes() { return memory::Buffer<std::byte>::bytes_needed(kBlock); }

HiddenRows::HiddenRows(const memory::IndexSet& set, const Options& options, memory::Ledger& ledger)
    : ledger_(ledger),
      set_(set),
      batches_bytes_(options.spare_bytes),
      shape_{.row_bytes = graph::padded_row_bytes(graph::FeatureType::f32, options.columns),
             .count = set.size(),
             .columns = options.columns} {
  const uint64_t bytes = shape_.count * shape_.row_bytes;
  const std::filesystem::path& folder = options.folder;
  if (spare_bytes() >= bytes) {
    resident_ = memory::Buffer<std::byte>(ledger, "hidden rows", bytes);
    return;
  }
  const uint64_t free_bytes = io::disk_of(folder).free_bytes;
  if (free_bytes < bytes) {
    fail(ErrorKind::disk,
         "evaluating with all neighbours keeps {} of hidden values in {}, which has {} free; use "
         "--eval sampled, or a --save-dir on a larger disk",
         format_bytes(bytes), folder.string(), format_bytes(free_bytes));
  }
  file_.emplace(io::TempPlace{.folder = folder});
  block_ = memory::Buffer<std::byte>(ledger, "hidden rows", kBlock);
}

// How much of the available memory rows may take.
uint64_t HiddenRows::spare_bytes() const {
  const uint64_t available = ledger_.available_bytes();
  return available - std::min(available, std::max(batches_bytes_, available / kSparePart));
}

void HiddenRows::append(const float* rows, uint64_t count) {
  const uint64_t values = shape_.columns * sizeof(float);
  for (uint64_t i = 0; i < count; ++i) {
    const auto* row = reinterpret_cast<const std::byte*>(rows + i * shape_.columns);
    if (!file_) {
      std::memcpy(resident_.data() + filled_bytes_, row, values);
      filled_bytes_ += shape_.row_bytes;
      continue;
    }
    for (uint64_t done = 0; done < shape_.row_bytes;) {
      const uint64_t piece = std::min(shape_.row_bytes - done, kBlock - filled_bytes_);
      const uint64_t copied = done < values ? std::min(piece, values - done) : 0;
      std::memcpy(block_.data() + filled_bytes_, row + done, copied);
      std::memset(block_.data() + filled_bytes_ + copied, 0, piece - copied);
      filled_bytes_ += piece;
      done += piece;
      if (filled_bytes_ == kBlock) write_block();
    }
  }
}

void HiddenRows::write_block() {
  const uint64_t bytes = io::round_up_to_block(filled_bytes_);
  file_->write(block_.first(bytes), written_bytes_);
  written_bytes_ += bytes;
  filled_bytes_ = 0;
}

const feature::RowSource& HiddenRows::finish(const Readers& readers) {
  if (!file_) {
    shape_.data = reinterpret_cast<const unsigned char*>(resident_.data());
    return source_.emplace(shape_, &set_);
  }
  if (filled_bytes_ > 0) write_block();
  block_ = {};
  source_.emplace(feature::RowSource::File{.path = file_->path(),
                                           .shape = shape_,
                                           .areas = readers.count,
                                           .area_bytes = readers.area_bytes,
                                           .windows = readers.windows,
                                           .window_bytes = readers.window_bytes,
                                           .set = &set_,
                                           .tag = "hidden rows"},
                  ledger_);
  source_->file().raise(spare_bytes(), readers.count, [](std::span<const std::byte>) {});
  reclaimer_ = ledger_.on_shortage([this](uint64_t bytes) { source_->file().lower_by(bytes); });
  return *source_;
}

}  // namespace plimsoll::batch
