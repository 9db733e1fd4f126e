// The bounded pipeline: threads that draw, gather and assemble batches ahead of the trainer.
//
// At most `slots` batches exist at any time: being made, waiting, or with the trainer. A batch's
// memory is the ledger's "batches"; it grows to the largest batch met and is then used again. What
// a batch holds depends on its pass and index alone, and batches come out in order: threads change
// nothing but the time.
//
// A batch that the ledger has no room for is made again when it is the next to be taken and nothing
// else is in memory; one that does not fit even then comes out in parts, in order; see Batch.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
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
#include "batch/packed_rows.h"
#include "batch/seeds.h"
#include "feature/row_source.h"
#include "memory/ledger.h"
#include "sample/sampler.h"
#include "sample/topology.h"

namespace plimsoll::batch {

struct PipelineOptions {
  std::vector<uint32_t> fanout;  // one hop each, the seeds' first
  recipe::Draw draw = recipe::Draw::uniform;
  Assembly assembly;
  unsigned workers = 1;
  unsigned slots = 3;   // a window, and one for each batch that the trainer holds when it takes one
  unsigned window = 1;  // batches that a worker makes at once, reading shared rows once
  io::ReadOptions reading;
  memory::PageSource* pages = nullptr;  // for what the trainer will copy elsewhere
  // Told what everybody waits for, when the trainer has waited for long.
  std::function<void(const std::string& what)> on_stall;
  std::chrono::milliseconds patience = std::chrono::seconds(30);
};

// One pass over some nodes.
struct Pass {
  Seeds seeds;
  std::span<const int32_t> labels;  // by place in the list; may be empty
  uint64_t batch_size = 1;
  uint64_t first_batch = 0;
  uint64_t key = 0;  // chooses the draws, together with the batch's index
  bool gradients = false;
  PackedRows* packed = nullptr;  // rows of an earlier pass of the same batches; must outlive it
};

// Seconds of threads' time.
struct StageTimes {
  double sample = 0;
  double gather = 0;
  double waiting = 0;  // of the consumer, for a batch
};

// What was read since the start.
struct ReadCounts {
  std::string method;  // empty where nothing was
  uint64_t reads = 0;
  uint64_t bytes = 0;
  double seconds = 0;         // of threads
  uint64_t rows = 0;          // that batches needed
  uint64_t rows_on_disk = 0;  // those of them that were not resident
  uint64_t rows_packed = 0;   // those of them that came in one piece: see PackedRows
};

class Pipeline {
 public:
  // Topology and rows must outlive it.
  Pipeline(const sample::Topology& topology, const feature::RowSource& rows,
           PipelineOptions options, memory::Ledger& ledger);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() { stop(); }

  // Begins a pass; one that is under way is dropped. All batches must have been given back.
  void start(const Pass& pass);
  void stop();

  // The next batch, or part of one, in order; null after the last one; not between stop and start.
  // Give every one back. Rethrows what a worker threw.
  const Batch* take();
  void give_back(const Batch* batch);
  // For a consumer that had no room to compute `batch`, the last one out: gives it back and drops
  // all others, so that the next take() has the same seeds again, or with `from_its_start` all of
  // its batch's. Until that batch is done, batches are made and computed one at a time; where that
  // was so already, in parts of half as many seeds. False where a single seed was alone already.
  bool make_again(const Batch* batch, bool from_its_start);
  // Whether batches are made and computed one at a time now.
  bool one_at_a_time() const;
  // Ends the pass and gives everything back. All batches must have been given back.
  void release();

  StageTimes times() const;
  ReadCounts reads() const;

 private:
  enum class Stage { idle, waiting_for_slots, sampling, gathering, waiting_for_memory };
  // Seeds first <= i < last of a batch; ordered as they come out.
  struct Range {
    uint64_t index = 0;
    uint64_t first = 0;
    uint64_t last = 0;
    bool operator<(const Range& other) const {
      return std::tie(index, first, last) < std::tie(other.index, other.first, other.last);
    }
  };
  struct Slot {
    Slot(memory::Ledger& ledger, size_t hops, memory::PageSource* pages)
        : assembler(ledger, hops, pages) {}
    Assembler assembler;
    Range range;
  };
  struct Worker {
    Worker(const sample::Topology& topology, const feature::RowSource& rows,
           const PipelineOptions& options, memory::Ledger& ledger);
    sample::Sampler sampler;
    Gatherer gatherer;
    std::vector<uint32_t> seeds;
    std::vector<Slot*> window;
    bool alone = false;  // with its window: nothing else is in memory
    std::atomic<Stage> stage = Stage::idle;
  };

  void work(const std::stop_token& stopping, Worker& worker);
  bool claim(const std::stop_token& stopping, Worker& worker);
  void make(Worker& worker);
  void draw(Worker& worker, Slot& slot);
  bool make_smaller(Worker& worker);
  void empty(Slot& slot);
  void give_back_all();
  bool alone() const;
  bool others_hold();
  std::map<Range, Slot*>::iterator find_next();
  Range whole(uint64_t index) const;
  std::string describe() const;

  const feature::RowSource& rows_;
  const PipelineOptions options_;
  memory::Ledger& ledger_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::unique_ptr<Worker>> makers_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::optional<Pass> pass_;
  uint64_t batch_count_ = 0;
  uint64_t next_to_make_ = 0;
  Range next_to_take_;  // its last does not matter
  std::vector<Slot*> free_;
  std::set<Range> again_;  // to be made before any new batch
  std::map<Range, Slot*> ready_;
  std::map<const Batch*, Slot*> taken_;
  uint64_t making_ = 0;               // windows
  uint64_t most_seeds_ = UINT64_MAX;  // of a part, as far as this pass has found out what fits
  bool taking_ = false;               // the trainer waits
  bool paused_ = false;               // by make_again, until the next take
  bool crowded_ = false;  // a batch did not fit beside others: the next one is made alone
  std::optional<uint64_t> lone_batch_;  // did not fit beside others when it was computed
  std::exception_ptr failure_;
  StageTimes times_;
  ReadCounts reads_;

  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace plimsoll::batch
