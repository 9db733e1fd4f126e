#include "batch/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll::batch {
namespace {

using Clock = std::chrono::steady_clock;

sample::SamplerOptions sampling_of(const PipelineOptions& options) {
  return {.fanout = options.fanout,
          .expansion = options.expansion,
          .all_degrees = options.assembly.needs_all_degrees(),
          .draw = options.draw,
          .reading = options.reading};
}

}  // namespace

Pipeline::Worker::Worker(const sample::Topology& topology, const feature::RowSource& rows,
                         const PipelineOptions& options, memory::Ledger& ledger)
    : sampler(topology, sampling_of(options), ledger),
      gatherer(
          rows, [this]() -> io::ReadQueue& { return sampler.queue(); }, ledger),
      seeds(ledger, "sampling") {}

Pipeline::Pipeline(const sample::Topology& topology, const feature::RowSource& rows,
                   PipelineOptions options, memory::Ledger& ledger)
    : topology_(topology),
      rows_(rows),
      options_(std::move(options)),
      ledger_(ledger),
      window_maker_(
          topology, rows,
          {.sampling = sampling_of(options_), .window = options_.window, .pages = pages().blocks},
          ledger),
      windows_(rows, options_.window, ledger) {
  for (unsigned i = 0; i < options_.slots; ++i) {
    slots_.push_back(std::make_unique<Slot>(ledger, options_.fanout.size(), pages()));
  }
  for (unsigned i = 0; i < options_.workers; ++i) {
    makers_.push_back(std::make_unique<Worker>(topology, rows, options_, ledger));
  }
}

void Pipeline::start(const Pass& pass) {
  const bool expected = !expected_.empty() && pass.draws_like(expected_.front());
  if (expected) {
    const Clock::time_point begin = Clock::now();
    std::unique_lock lock(mutex_);
    wait_patiently(lock, [&] { return !filling_ahead_; });
    times_.waiting += seconds_since(begin);
  }
  stop();
  if (!taken_.empty()) fail(ErrorKind::internal, "{} batches not given back", taken_.size());
  expected ? expected_.pop_front() : expected_.clear();
  pass_ = pass;
  batch_count_ = count_batches(pass);
  next_to_make_ = pass.first_batch;
  next_to_take_ = begin_of(pass.first_batch);
  again_.clear();
  ready_.clear();
  free_.clear();
  making_ = 0;
  most_seeds_ = UINT64_MAX;
  paused_ = crowded_ = making_window_ = filling_ahead_ = tried_ahead_ = false;
  lone_batch_.reset();
  for (const auto& slot : slots_) free_.push_back(slot.get());
  failure_ = nullptr;
  window_maker_.release();
  windows_.begin({pass.first_batch, batch_count_}, uses_windows(), expected);
  if (windows_.in_use()) {
    threads_.emplace_back([this](const std::stop_token& stopping) { make_windows(stopping); });
  }
  for (const auto& worker : makers_) {
    threads_.emplace_back(
        [this, &worker](const std::stop_token& stopping) { work(stopping, *worker); });
  }
}

void Pipeline::expect(std::vector<Pass> passes) {
  const std::lock_guard lock(mutex_);
  expected_.assign(passes.begin(), passes.end());
  changed_.notify_all();
}

void Pipeline::stop() {
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();
}

// All of a batch that this pipeline makes.
Pipeline::Range Pipeline::whole(const Pass& pass, uint64_t index) {
  const uint64_t seeds = pass.seeds_of(index);
  return {index, pass.cut.begin(seeds), pass.cut.end(seeds)};
}

// The batches of the pass in which this pipeline has a part.
uint64_t Pipeline::count_batches(const Pass& pass) {
  if (pass.batch_size < pass.cut.parts) {
    fail(ErrorKind::internal, "batches of {} seeds, cut into {} parts", pass.batch_size,
         pass.cut.parts);
  }
  const uint64_t batches = pass.seeds.batches(pass.batch_size);
  const bool last_is_empty = batches > 0 && pass.cut.empty(pass.seeds_of(batches - 1));
  return last_is_empty ? batches - 1 : batches;
}

// Where the batch begins; `last` is not set.
Pipeline::Range Pipeline::begin_of(uint64_t index) const {
  return {.index = index, .first = index < batch_count_ ? whole(index).first : 0};
}

// Releases all memory of a slot.
void Pipeline::empty(Slot& slot) {
  slot.assembler = Assembler(ledger_, options_.fanout.size(), pages());
}

// Drops the batches that are ready (they will be made again) and the windows, and releases all
// memory kept for later. Call with the mutex held while nothing is being made.
void Pipeline::give_back_all() {
  windows_.drop(next_to_make_);
  window_maker_.release();
  for (const auto& [range, slot] : ready_) {
    again_.insert(range);
    free_.push_back(slot);
  }
  ready_.clear();
  for (Slot* slot : free_) empty(*slot);
  for (const auto& maker : makers_) {
    maker->sampler.release();
    maker->gatherer.release();
    maker->seeds.release();
  }
}

// Whether other batches may still release memory: one that is being made, the next to be taken, or
// one with the trainer. A trainer that waits in take() gives nothing back.
bool Pipeline::others_hold() {
  return making_ > 0 || find_next() != ready_.end() || (!taken_.empty() && !taking_);
}

// Whether the next batch must be made alone in memory. Call with the mutex held.
bool Pipeline::alone() const { return crowded_ || lone_batch_; }

bool Pipeline::one_at_a_time() const {
  const std::lock_guard lock(mutex_);
  return alone();
}

bool Pipeline::make_again(const Batch* batch, bool from_its_start) {
  std::unique_lock lock(mutex_);
  Slot* slot = taken_.extract(batch).mapped();
  free_.push_back(slot);
  if (!taken_.empty()) fail(ErrorKind::internal, "{} batches not given back", taken_.size());
  const Range tried = slot->range;
  const uint64_t seeds = tried.last - tried.first;
  const bool was_alone = lone_batch_ == tried.index;
  if (was_alone && seeds == 1) return false;
  paused_ = true;
  changed_.wait(lock, [&] { return making_ == 0 || failure_; });
  if (failure_) return true;  // the next take() rethrows it
  give_back_all();
  next_to_take_ =
      from_its_start ? begin_of(tried.index) : Range{.index = tried.index, .first = tried.first};
  std::erase_if(again_, [&](const Range& range) { return range.index == tried.index; });
  again_.insert({tried.index, next_to_take_.first, whole(tried.index).last});
  lone_batch_ = tried.index;
  if (was_alone) most_seeds_ = std::min(most_seeds_, seeds / 2);
  return true;
}

void Pipeline::release() {
  stop();
  const std::lock_guard lock(mutex_);
  if (!taken_.empty()) fail(ErrorKind::internal, "{} batches not given back", taken_.size());
  give_back_all();
}

// The ready range that begins where the last one taken ended, of any length.
std::map<Pipeline::Range, Pipeline::Slot*>::iterator Pipeline::find_next() {
  const auto found = ready_.lower_bound({next_to_take_.index, next_to_take_.first, 0});
  const bool is_it = found != ready_.end() && found->first.index == next_to_take_.index &&
                     found->first.first == next_to_take_.first;
  return is_it ? found : ready_.end();
}

const Batch* Pipeline::take() {
  const Clock::time_point start = Clock::now();
  std::unique_lock lock(mutex_);
  if (next_to_take_.index >= batch_count_) return nullptr;
  paused_ = false;
  taking_ = true;
  changed_.notify_all();
  wait_patiently(lock, [&] { return can_take(); });
  taking_ = false;
  if (failure_) std::rethrow_exception(failure_);
  times_.waiting += seconds_since(start);
  Slot* slot = ready_.extract(find_next()).mapped();
  const Range& range = slot->range;
  const bool ended = range.last == whole(range.index).last;
  next_to_take_ =
      ended ? begin_of(range.index + 1) : Range{.index = range.index, .first = range.last};
  const Batch* batch = &slot->assembler.batch();
  taken_[batch] = slot;
  return batch;
}

// Says what everyone waits for if that takes long.
void Pipeline::wait_patiently(std::unique_lock<std::mutex>& lock,
                              const std::function<bool()>& done) {
  while (!changed_.wait_for(lock, options_.patience, done)) {
    if (!options_.on_stall) continue;
    const std::string what = describe();
    lock.unlock();
    options_.on_stall(what);
    lock.lock();
  }
}

void Pipeline::give_back(const Batch* batch) {
  const std::lock_guard lock(mutex_);
  free_taken(batch);
}

// Call with the mutex held.
Pipeline::Slot& Pipeline::free_taken(const Batch* batch) {
  Slot* slot = taken_.extract(batch).mapped();
  free_.push_back(slot);
  if (slot->range.index == lone_batch_ && batch->last_part()) lone_batch_.reset();
  changed_.notify_all();
  return *slot;
}

// Whether the next batch is ready or a worker has failed. Call with the mutex held.
bool Pipeline::can_take() { return failure_ || find_next() != ready_.end(); }

bool Pipeline::wait(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (next_to_take_.index >= batch_count_) return true;
  return changed_.wait_for(lock, patience, [&] { return can_take(); });
}

void Pipeline::trade(const Batch* batch, Assembler& memory) {
  const std::lock_guard lock(mutex_);
  Slot& slot = free_taken(batch);
  std::swap(slot.assembler, memory);
}

// For on_stall: "batch 17 is not ready: ...; worker 1 gathers rows; ...". Call with the mutex held.
std::string Pipeline::describe() const {
  std::string text =
      fmt::format("batch {} is not ready: {} of {} slots for batches are free, {} ready",
                  next_to_take_.index + 1, free_.size(), slots_.size(), ready_.size());
  for (size_t i = 0; i < makers_.size(); ++i) {
    constexpr std::array kWords = {"has ended", "waits for a free slot", "samples neighbours",
                                   "gathers rows", "waits for memory"};
    text += fmt::format("; worker {} {}", i + 1,
                        kWords.at(static_cast<size_t>(makers_[i]->stage.load())));
  }
  if (making_window_) text += "; a window is being read";
  return text;
}

StageTimes Pipeline::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

ReadCounts Pipeline::reads() const {
  const std::lock_guard lock(mutex_);
  return reads_;
}

}  // namespace plimsoll::batch
