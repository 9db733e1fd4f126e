// A bounded pipeline: worker threads sample, gather and assemble batches ahead of the trainer.
//
// A slot is the memory of one batch. At most `slots` batches exist at any time: being made, ready,
// or with the trainer. The ledger counts them as "batches"; a slot grows to the largest batch it
// has held and is then reused. The content of a batch depends only on its pass and index, and
// batches are taken in order, so the number of threads changes only the time.
//
// If the ledger refuses memory for a batch, the batch is made again later, when it is the next to
// be taken and nothing else is in memory. If it does not fit even then, it is made in parts (see
// Batch).
//
// If a part of the store is on disk, one more thread makes windows (batch/window.h), and the
// workers make batches from them. Batches that are made again have no window.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "batch/assemble.h"
#include "batch/batch.h"
#include "batch/gather.h"
#include "batch/seeds.h"
#include "batch/window.h"
#include "batch/window_queue.h"
#include "feature/rows.h"
#include "memory/growing.h"
#include "memory/ledger.h"
#include "sample/sampler.h"
#include "sample/topology.h"

namespace plimsoll::batch {

struct PipelineOptions {
  std::vector<uint32_t> fanout;  // one entry per hop, the seeds' first
  recipe::Draw draw = recipe::Draw::uniform;
  sample::Expansion expansion = sample::Expansion::every_hop;
  Assembly assembly;
  const FlatTables* flat = nullptr;  // batches are also made in that form; null: they are not
  unsigned workers = 1;
  unsigned slots = 3;  // at least one more than the trainer holds in take()
  WindowOptions window;
  io::ReadOptions reading;
  // The memory of what is read of batches, for example pinned for a GPU: with `flat` of their input
  // and of that form, without it of all.
  memory::PageSource* pages = nullptr;
  // Called with a description of what everyone waits for, when take() has waited for `patience`.
  std::function<void(const std::string& what)> on_stall;
  std::chrono::milliseconds patience = std::chrono::seconds(30);
};

// One pass over some nodes.
struct Pass {
  Seeds seeds;
  std::span<const int32_t> labels;  // by Seeds::place(); may be empty
  uint64_t batch_size = 1;
  uint64_t first_batch = 0;
  uint64_t key = 0;  // together with the batch's index, the seed of the sampling
  bool gradients = false;
  // The part of every batch that this pipeline makes. Only the last batch may have an empty part,
  // so batch_size must not be less than the number of parts; take() leaves that batch out.
  BatchCut cut = {};

  uint64_t seeds_of(uint64_t batch) const {
    return std::min(batch_size, seeds.size() - batch * batch_size);
  }
  // Whether both have the same batches with the same neighbourhoods.
  bool draws_like(const Pass& other) const {
    return seeds == other.seeds && batch_size == other.batch_size && key == other.key &&
           first_batch == other.first_batch && cut == other.cut;
  }
};

// Seconds, summed over threads.
struct StageTimes {
  double sample = 0;
  double gather = 0;
  double waiting = 0;  // of the trainer for batches
};

// Totals since the start.
struct ReadCounts {
  std::string method;  // how it was read; empty if nothing was read
  uint64_t reads = 0;
  uint64_t bytes = 0;
  double seconds = 0;         // summed over threads
  uint64_t rows = 0;          // rows that batches needed
  uint64_t rows_on_disk = 0;  // of these, read from disk
  uint64_t windows = 0;
  uint64_t window_batches = 0;  // in all windows together
};

class Pipeline {
 public:
  // Topology and rows must outlive it.
  Pipeline(const sample::Topology& topology, const feature::RowSource& rows,
           PipelineOptions options, memory::Ledger& ledger);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() { stop(); }

  // Begins a pass and drops the current one, if any. All batches must have been given back.
  void start(const Pass& pass);
  // The passes that will probably follow the current one, in this order. While the last batches of
  // a pass are made, the first window of the next one is read. A start() of another pass than the
  // next one drops all of it.
  void expect(std::vector<Pass> passes);
  void stop();

  // Waits for the next batch or part of a batch, in order; null after the last one. Do not call it
  // between stop() and start(). Every batch must be given back. Rethrows what a worker threw.
  const Batch* take();
  void give_back(const Batch* batch);
  // Waits at most so long for the next batch. True if take() will not wait.
  bool wait(std::chrono::milliseconds patience);
  // Gives a batch back, but its memory stays with the caller: `memory` then holds the batch, and
  // the pipeline uses what `memory` had before. For callers that keep batches longer than a pass.
  // Not for the parts of a batch.
  void trade(const Batch* batch, Assembler& memory);
  // For a trainer that had too little memory to compute `batch`, the last one taken. Gives it back
  // and drops all other batches; the next take() starts with the same seeds again, or with
  // `from_its_start` with all seeds of the batch. Until that batch is done, batches are made and
  // computed one at a time; if that was the case already, in parts with half as many seeds. Returns
  // false if the batch was already alone and had a single seed.
  bool make_again(const Batch* batch, bool from_its_start);
  // Whether batches are now made and computed one at a time.
  bool one_at_a_time() const;
  // Ends the pass and releases all memory. All batches must have been given back.
  void release();

  StageTimes times() const;
  ReadCounts reads() const;

  // What a worker takes for so many seeds, besides its sampler and its gatherer.
  static uint64_t worker_bytes_needed(uint64_t seeds) {
    return memory::Growing<uint32_t>::renewed_bytes(seeds);
  }

 private:
  enum class Stage { idle, waiting_for_slots, sampling, gathering, waiting_for_memory };
  // Seeds first <= i < last of a batch, all ranks' seeds counted; sorted in the order of take().
  struct Range {
    uint64_t index = 0;
    uint64_t first = 0;
    uint64_t last = 0;
    bool operator<(const Range& other) const {
      return std::tie(index, first, last) < std::tie(other.index, other.first, other.last);
    }
  };
  struct Slot {
    Slot(memory::Ledger& ledger, size_t hops, BatchPages pages) : assembler(ledger, hops, pages) {}
    Assembler assembler;
    Range range;
  };
  struct Worker {
    Worker(const sample::Topology& topology, const feature::RowSource& rows,
           const PipelineOptions& options, memory::Ledger& ledger);
    sample::Sampler sampler;
    Gatherer gatherer;
    memory::Growing<uint32_t> seeds;
    Slot* slot = nullptr;
    WindowQueue::Entry* window = nullptr;  // that has the batch; null if none has
    bool alone = false;                    // nothing but its batch is in memory
    std::atomic<Stage> stage = Stage::idle;
  };

  void work(const std::stop_token& stopping, Worker& worker);
  bool claim(const std::stop_token& stopping, Worker& worker);
  void make(Worker& worker);
  void begin(const Range& range, Assembler& assembler);
  static uint64_t begin_draws(const Pass& pass, const Range& range, sample::Neighborhood& out);
  bool make_smaller(Worker& worker);
  void add_reads(const io::ReadQueue::Counts& before, const io::ReadQueue::Counts& after,
                 const std::function<std::string()>& method);
  bool uses_windows() const;
  bool can_take();
  Slot& free_taken(const Batch* batch);
  void make_windows(const std::stop_token& stopping);
  struct WindowTask {
    std::unique_ptr<WindowQueue::Entry> entry;  // null: there is nothing to do any more
    Pass pass;
    bool ahead = false;  // of the next pass
  };
  std::optional<WindowTask> claim_window(const std::stop_token& stopping);
  void fill(WindowTask& task);
  bool can_look_ahead() const;
  void wait_patiently(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done);
  BatchPages pages() const { return BatchPages::of(options_.pages, options_.flat != nullptr); }
  void empty(Slot& slot);
  void give_back_all();
  bool alone() const;
  bool others_hold();
  std::map<Range, Slot*>::iterator find_next();
  Range whole(uint64_t index) const { return whole(*pass_, index); }
  static Range whole(const Pass& pass, uint64_t index);
  static uint64_t count_batches(const Pass& pass);
  Range begin_of(uint64_t index) const;
  std::string describe() const;

  const sample::Topology& topology_;
  const feature::RowSource& rows_;
  const PipelineOptions options_;
  memory::Ledger& ledger_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::unique_ptr<Worker>> makers_;
  WindowMaker window_maker_;
  std::atomic<bool> making_window_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::optional<Pass> pass_;
  uint64_t batch_count_ = 0;
  uint64_t next_to_make_ = 0;
  Range next_to_take_;  // `last` is not used
  std::vector<Slot*> free_;
  std::set<Range> again_;  // must be made before any new batch
  std::map<Range, Slot*> ready_;
  std::map<const Batch*, Slot*> taken_;
  uint64_t making_ = 0;  // how many batches and windows are being made
  WindowQueue windows_;
  std::deque<Pass> expected_;
  bool filling_ahead_ = false;
  bool tried_ahead_ = false;          // in this pass
  uint64_t most_seeds_ = UINT64_MAX;  // per part; lowered when a part does not fit
  bool taking_ = false;               // the trainer waits in take()
  bool paused_ = false;               // set by make_again(), until the next take()
  bool crowded_ = false;              // a batch did not fit beside others: make the next one alone
  std::optional<uint64_t> lone_batch_;  // index of the batch that make_again() asked for
  std::exception_ptr failure_;
  StageTimes times_;
  ReadCounts reads_;

  std::vector<std::jthread> threads_;  // declared last: they use all of the above
};

}  // namespace plimsoll::batch
