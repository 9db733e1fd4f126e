// A loader: passes over some nodes of a store, with batches that the caller may keep. Its batches
// are those of `plimsoll train` with the same seed and epoch.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/residence.h"
#include "batch/assemble.h"
#include "batch/pipeline.h"
#include "gpu/pinned_pages.h"
#include "memory/growing.h"
#include "memory/limit.h"
#include "plan/plan.h"
#include "recipe/recipe.h"
#include "sample/sampler.h"

namespace plimsoll::api {

// ---- what a loader is asked to do, and the plan for it (loader_plan.cc) ----

enum class LabelScope { all, seeds, none };

// Whether batches are in memory that a GPU copies from at full speed; with `watched`, they may be
// given back while copies of them still run.
enum class Pinning { none, watched, until_copied };

struct LoaderOptions {
  std::vector<uint32_t> fanout;
  uint64_t batch_size = 1;
  std::string split;  // empty: `nodes`
  // Original ids in the caller's memory, read while a loader is made.
  std::span<const int64_t> nodes;
  bool all_nodes = false;
  uint64_t seed = 0;
  std::optional<uint64_t> memory_bytes;
  unsigned workers = 0;
  unsigned threads = 1;
  unsigned held = 3;
  LabelScope labels = LabelScope::all;
  bool shuffle = false;
  bool drop_last = false;
  bool labor = false;
  bool every_hop = false;
  bool positions = false;
  Pinning pinning = Pinning::none;
  unsigned gpu = 0;  // that copies, as CUDA counts
  // The driver that pins; another one is for tests.
  const gpu::cuda::Opened<gpu::cuda::DriverFunctions>* driver = nullptr;
};

// Throws Error{usage} or Error{input} if the options do not fit together or to the store.
void check(const LoaderOptions& options, const graph::Store& store);

// The limit of the whole process: the given one if the surroundings allow as much; without one,
// what is free now and what the process already has.
memory::Limit process_limit(const std::optional<uint64_t>& memory_bytes);

// The nodes that a loader goes through, by position. Either owned or a table of the residence.
struct SeedList {
  memory::Buffer<uint32_t> owned;
  std::span<const uint32_t> nodes;
};
SeedList list_seeds(const LoaderOptions& options, Residence& residence);

// The plan for a loader of these nodes. It need not fit.
plan::Plan plan_loader(const LoaderOptions& options, Residence& residence,
                       std::span<const uint32_t> seeds);
// Throws Error{memory} with what is missing and the remedy if the plan does not fit.
void check_fits(const plan::Plan& plan, const HostShare& share);

// ---- the loader (loader.cc) ----

// The memory of the batches that callers have. At most `most` exist; one that is given back is used
// again, if copies are watched only when the GPU has done what it was asked for until then.
class BatchPool {
 public:
  // `pages` may be null.
  BatchPool(std::shared_ptr<Residence> residence, size_t hops, unsigned most,
            std::shared_ptr<gpu::PinnedPages> pages, Pinning pinning);

  // Waits at most so long for copies of batches that were given back. True if lend() will not wait.
  bool wait(std::optional<std::chrono::milliseconds> patience);
  // Null if all are lent.
  std::unique_ptr<batch::Assembler> lend();
  void give_back(std::unique_ptr<batch::Assembler> memory);
  // What is not lent is released now, the rest when it is given back.
  void close();
  unsigned lent() const;
  unsigned most() const { return most_; }

 private:
  const std::shared_ptr<Residence> residence_;
  const size_t hops_;
  const unsigned most_;
  const std::shared_ptr<gpu::PinnedPages> pages_;  // outlives all that follows
  const bool watched_;
  struct Returned {
    std::unique_ptr<batch::Assembler> memory;
    std::unique_ptr<gpu::PinnedPages::CopyMark> copied;
  };
  void collect();
  mutable std::mutex mutex_;       // guards what follows
  std::deque<Returned> returned_;  // the copies of these may still run
  std::vector<std::unique_ptr<batch::Assembler>> free_;
  unsigned lent_ = 0;
  bool closed_ = false;
};

// A batch that a caller has; gives it back when it ends.
class LentBatch {
 public:
  LentBatch(std::shared_ptr<BatchPool> pool, std::unique_ptr<batch::Assembler> memory)
      : pool_(std::move(pool)), memory_(std::move(memory)) {}
  LentBatch(const LentBatch&) = delete;
  LentBatch& operator=(const LentBatch&) = delete;
  ~LentBatch() { pool_->give_back(std::move(memory_)); }
  batch::Assembler& memory() const { return *memory_; }

 private:
  std::shared_ptr<BatchPool> pool_;
  std::unique_ptr<batch::Assembler> memory_;
};

enum class NextResult { batch, end, wait, held };

// For one thread at a time.
class Loader {
 public:
  // Loads the residence unless another loader has done so. Throws Error{memory} if the plan does
  // not fit.
  Loader(std::shared_ptr<Residence> residence, const LoaderOptions& options);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  uint64_t batches() const;
  void start(uint64_t epoch);
  // Without `patience`, waits as long as it takes.
  NextResult next(std::optional<std::chrono::milliseconds> patience,
                  std::unique_ptr<LentBatch>& out);
  // Like batch `index` of that epoch, but for any nodes; null if all batches are held. Has no rows.
  std::unique_ptr<LentBatch> sample(std::span<const int64_t> ids, uint64_t epoch, uint64_t index);
  // What sample() leases beside the batch.
  static uint64_t sample_bytes(uint64_t nodes);
  void read_rows(std::span<const int64_t> ids, float* out);
  void read_labels(std::span<const int64_t> ids, int64_t* out);

  Residence& residence() { return *residence_; }
  const BatchPool& pool() const { return *pool_; }
  unsigned workers() const { return arrangement_.workers; }
  uint64_t pinned_bytes() const { return pages_ ? pages_->pinned_bytes() : 0; }
  // Why memory is not pinned although it was asked for; empty if it is.
  std::string pinning_problem() const { return pages_ ? pages_->problem() : ""; }
  batch::ReadCounts reads() const { return pipeline_->reads(); }

 private:
  batch::PipelineOptions pipeline_options() const;
  void load_seed_labels();
  void share_residence(const plan::Plan& plan);
  sample::Sampler& sampler();

  const std::shared_ptr<Residence> residence_;
  LoaderOptions options_;
  const Residence::Seat seat_;
  const std::shared_ptr<gpu::PinnedPages> pages_;
  SeedList seeds_;
  plan::Arrangement arrangement_;
  uint64_t needed_bytes_ = 0;  // without the lines
  batch::FlatTables tables_;
  memory::Buffer<int32_t> seed_labels_;
  memory::Growing<uint32_t> asked_;  // of sample(): positions, and the same in order
  memory::Growing<uint32_t> sorted_;
  const std::shared_ptr<BatchPool> pool_;
  std::unique_ptr<sample::Sampler> sampler_;
  std::unique_ptr<batch::Pipeline> pipeline_;
  uint64_t taken_ = 0;  // batches of this pass
  bool started_ = false;
};

}  // namespace plimsoll::api
