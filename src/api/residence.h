// What the loaders of a store share: the ledger of their memory limit, and the part of the store
// that is in memory. It lives as long as a loader or a batch of it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "api/host_share.h"
#include "batch/flat.h"
#include "feature/rows.h"
#include "graph/store.h"
#include "memory/buffer.h"
#include "memory/ledger.h"
#include "plan/arrangement.h"
#include "sample/topology.h"

namespace plimsoll::api {

// How many loaders of one store may be open at the same time: each has places for the rows that it
// reads, and their address space is reserved in advance.
constexpr unsigned kMostLoaders = 16;

class Residence {
 public:
  // Nothing is loaded yet. `limit_bytes` is the limit of the whole process; it holds from load()
  // on, when a plan has found that it suffices.
  Residence(graph::Store store, uint64_t limit_bytes);

  const graph::Store& store() const { return store_; }
  memory::Ledger& ledger() { return ledger_; }
  HostShare& share() { return share_; }

  // Tables by position, loaded when they are first asked for, and the inverse of the first.
  std::span<const uint32_t> ids();
  std::span<const int32_t> labels();
  std::span<const uint32_t> positions();  // by original id
  // Throws Error{input} if an id is not a node of the store.
  uint32_t position_of(std::span<const uint32_t> positions, int64_t id) const;

  // Loads lists and rows up to their lines, and starts to watch the memory of the process.
  void load(const plan::Arrangement& arrangement, unsigned threads, uint64_t needed_bytes);
  bool loaded() const { return rows_.has_value(); }
  const plan::Arrangement& arrangement() const { return arrangement_; }
  const sample::Topology& topology() const { return *topology_; }
  const feature::RowSource& rows() const { return *rows_; }

  // A loader's place among kMostLoaders. Throws Error{usage} if there is none left.
  class Seat {
   public:
    explicit Seat(Residence& residence);
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    ~Seat();

   private:
    Residence& residence_;
  };

 private:
  const graph::Store store_;
  memory::Ledger ledger_;
  std::mutex mutex_;  // guards the tables and the seats
  memory::Buffer<uint32_t> ids_;
  memory::Buffer<int32_t> labels_;
  memory::Buffer<uint32_t> positions_;
  unsigned seats_ = 0;
  plan::Arrangement arrangement_;
  std::optional<sample::Topology> topology_;
  std::optional<feature::RowSource> rows_;
  std::vector<memory::Ledger::Reclaimer> reclaimers_;
  HostShare share_;  // declared last: its threads use all of the above
};

}  // namespace plimsoll::api
