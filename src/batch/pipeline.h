// The bounded pipeline: threads that draw, gather and assemble batches ahead of the trainer.
//
// At most `slots` batches exist at any time: being made, waiting, or with the trainer. A batch's
// memory is the ledger's "batches"; it grows to the largest batch met and is then used again. What
// a batch holds depends on its pass and index alone, and batches come out in order: threads change
// nothing but the time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "batch/assemble.h"
#include "batch/batch.h"
#include "batch/seeds.h"
#include "kernel/kernels.h"
#include "memory/ledger.h"
#include "sample/sampler.h"
#include "sample/topology.h"

namespace plimsoll::batch {

struct PipelineOptions {
  std::vector<uint32_t> fanout;  // one hop each, the seeds' first
  Assembly assembly;
  unsigned workers = 1;
  unsigned slots = 3;
  memory::PageSource* pages = nullptr;  // for what the trainer will copy elsewhere
};

// One pass over some nodes.
struct Pass {
  Seeds seeds;
  std::span<const int32_t> labels;  // by place in the list; may be empty
  uint64_t batch_size = 1;
  uint64_t first_batch = 0;
  uint64_t key = 0;  // chooses the draws, together with the batch's index
  bool gradients = false;
};

// Seconds of threads' time.
struct StageTimes {
  double sample = 0;
  double gather = 0;
  double waiting = 0;  // of the consumer, for a batch
};

class Pipeline {
 public:
  // Topology and rows must outlive it.
  Pipeline(const sample::Topology& topology, kernel::Rows rows, PipelineOptions options,
           memory::Ledger& ledger);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() { stop(); }

  // Begins a pass; one that is under way is dropped. All batches must have been given back.
  void start(const Pass& pass);
  void stop();

  // The next batch in order, null after the last one; not between stop and start. Give every batch
  // back. Rethrows what a worker threw.
  const Batch* take();
  void give_back(const Batch* batch);

  StageTimes times() const;

 private:
  struct Slot {
    Slot(memory::Ledger& ledger, size_t hops, memory::PageSource* pages)
        : assembler(ledger, hops, pages) {}
    Assembler assembler;
  };
  void work(const std::stop_token& stopping, sample::Sampler& sampler);
  void make(sample::Sampler& sampler, std::vector<uint32_t>& seeds, Slot& slot, uint64_t index);

  const sample::Topology& topology_;
  const kernel::Rows rows_;
  const PipelineOptions options_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::unique_ptr<sample::Sampler>> samplers_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any slot_free_;
  std::condition_variable batch_ready_;
  std::optional<Pass> pass_;
  uint64_t batch_count_ = 0;
  uint64_t next_to_make_ = 0;
  uint64_t next_to_take_ = 0;
  std::vector<Slot*> free_;
  std::map<uint64_t, Slot*> ready_;
  std::map<const Batch*, Slot*> taken_;
  std::exception_ptr failure_;
  StageTimes times_;

  std::vector<std::jthread> workers_;  // last: they use all of the above
};

}  // namespace plimsoll::batch
