// Samples the neighbourhoods of many batches together, hop by hop: before each hop, the parts of
// the lists that any of them needs from disk are read once, in the order of the file. The
// neighbourhoods are the same as a Sampler's.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "io/bulk_reader.h"
#include "memory/growing.h"
#include "memory/index_set.h"
#include "sample/choose.h"
#include "sample/node_table.h"
#include "sample/sampler.h"
#include "sample/topology.h"

namespace plimsoll::sample {

class Sectors;

// A neighbourhood that is being sampled with others.
struct Draft {
  explicit Draft(memory::Ledger& ledger) : bounds(ledger, "windows"), missing(ledger, "windows") {}
  static uint64_t bytes_needed(const SamplerOptions& options, const BatchSize& size);

  uint64_t key = 0;
  Neighborhood* out = nullptr;  // holds the distinct seeds, in nodes and as their count

  memory::Growing<ListBounds> bounds;  // of the nodes met so far
  uint32_t known = 0;                  // how many of them
  uint32_t count = 0;                  // nodes met so far
  uint32_t begin = 0;                  // the first node for which this hop draws
  memory::Growing<uint32_t> missing;   // whose lists are not resident, in the order of the lists
  uint32_t missing_count = 0;
};

// For one thread at a time, which it helps with others. The topology must outlive it.
class JointSampler {
 public:
  struct Options {
    SamplerOptions sampling;
    io::BulkOptions reading;
    unsigned threads = 1;
    uint64_t room_bytes = uint64_t{64} << 20;  // for parts of lists; with less, more rounds
  };
  JointSampler(const Topology& topology, const Options& options, memory::Ledger& ledger);
  ~JointSampler();

  // The memory it keeps after it has sampled neighbourhoods of that size.
  static uint64_t bytes_needed(const Options& options, const BatchSize& size, uint64_t nodes,
                               uint64_t edges);

  void sample(std::span<Draft> drafts);

  io::BulkReader& reader() { return reader_; }
  // Of everything that was read by it or its reader().
  io::ReadQueue::Counts counts() const;
  void release();

 private:
  struct Scratch;
  class Lent;
  class MissingLists;

  void find_bounds(std::span<Draft> drafts);
  void read_bounds(std::span<Draft> drafts);
  void pick(std::span<Draft> drafts, size_t hop);
  void lay_out(Draft& draft, size_t hop, Scratch& scratch) const;
  void pick_resident(Draft& draft, size_t hop, Scratch& scratch) const;
  static void number(Draft& draft, size_t hop, Scratch& scratch);
  static uint64_t hop_key(const Draft& draft, size_t hop);
  // Calls body(draft, scratch) for every draft, by several threads.
  template <typename Body>
  void for_each(std::span<Draft> drafts, const Body& body);

  const Topology& topology_;
  const Options options_;
  memory::Ledger& ledger_;
  io::BulkReader reader_;
  std::unique_ptr<Sectors> bounds_sectors_;
  std::unique_ptr<Sectors> list_sectors_;
  mutable std::mutex mutex_;        // guards what follows
  io::ReadQueue::Counts released_;  // of scratches that are gone
  std::vector<std::unique_ptr<Scratch>> free_;
};

}  // namespace plimsoll::sample
