#include "api/residence.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "batch/window.h"
#include "io/file.h"
#include "memory/limit.h"

namespace plimsoll::api {

Residence::Residence(graph::Store store, uint64_t limit_bytes)
    : store_(std::move(store)),
      ledger_(memory::detect_limit().bytes),
      share_(ledger_, limit_bytes) {}

std::span<const uint32_t> Residence::ids() {
  const std::lock_guard lock(mutex_);
  const uint64_t nodes = store_.meta().nodes;
  if (ids_.size() == 0) {
    auto ids = io::load_array<uint32_t>(ledger_, "ids", store_.file("ids.u32"), nodes, 1,
                                        [](std::span<const uint32_t>) {});
    const auto* const wrong =
        std::find_if(ids.begin(), ids.end(), [&](uint32_t id) { return id >= nodes; });
    if (wrong != ids.end()) {
      fail(ErrorKind::store,
           "{}: id {} is not below {}, the number of nodes; import the graph again",
           store_.file("ids.u32").string(), *wrong, nodes);
    }
    ids_ = std::move(ids);
  }
  return ids_.span();
}

std::span<const int32_t> Residence::labels() {
  const std::lock_guard lock(mutex_);
  if (labels_.size() == 0 && store_.meta().classes > 0) {
    labels_ = io::load_array<int32_t>(ledger_, "labels", store_.file("labels.i32"),
                                      store_.meta().nodes, 1, [](std::span<const int32_t>) {});
  }
  return labels_.span();
}

std::span<const uint32_t> Residence::positions() {
  const auto ids = this->ids();
  const std::lock_guard lock(mutex_);
  if (positions_.size() == 0) {
    memory::Buffer<uint32_t> positions(ledger_, "ids", ids.size());
    for (uint64_t i = 0; i < ids.size(); ++i) positions[ids[i]] = static_cast<uint32_t>(i);
    positions_ = std::move(positions);
  }
  return positions_.span();
}

uint32_t Residence::position_of(std::span<const uint32_t> positions, int64_t id) const {
  if (id < 0 || static_cast<uint64_t>(id) >= positions.size()) {
    fail(ErrorKind::input, "there is no node {}; {} has the nodes 0 to {}", id,
         store_.folder().string(), store_.meta().nodes - 1);
  }
  return positions[static_cast<uint64_t>(id)];
}

void Residence::load(const plan::Arrangement& arrangement, unsigned threads,
                     uint64_t needed_bytes) {
  arrangement_ = arrangement;
  share_.enforce();
  const plan::Lines& lines = arrangement.lines;
  const auto ignore = [](uint64_t) {};
  topology_.emplace(sample::load_topology(
      store_, ledger_, {lines.offsets_bytes, lines.neighbors_bytes}, threads, ignore));
  rows_.emplace(
      feature::load_rows(store_, ledger_,
                         {.line_bytes = lines.features_bytes,
                          .areas = kMostLoaders * (std::max(arrangement.workers, threads) + 3),
                          .area_bytes = arrangement.area_bytes,
                          .windows = arrangement.window > 1 ? kMostLoaders * batch::kWindows : 0,
                          .window_bytes = arrangement.window_bytes},
                         threads, ignore));
  for (io::LinedFile* file : {&rows_->file(), &topology_->neighbors(), &topology_->offsets()}) {
    reclaimers_.push_back(ledger_.on_shortage([file](uint64_t bytes) { file->lower_by(bytes); }));
  }
  share_.watch(rows_->file(), needed_bytes);
}

Residence::Seat::Seat(Residence& residence) : residence_(residence) {
  const std::lock_guard lock(residence.mutex_);
  if (residence.seats_ == kMostLoaders) {
    fail(ErrorKind::usage, "{} loaders of {} are open already; close one", kMostLoaders,
         residence.store_.folder().string());
  }
  ++residence.seats_;
}

Residence::Seat::~Seat() {
  const std::lock_guard lock(residence_.mutex_);
  --residence_.seats_;
}

}  // namespace plimsoll::api
