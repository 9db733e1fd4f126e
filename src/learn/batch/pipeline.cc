#include "batch/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/random.h"
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
          {.sampling = sampling_of(options_), .window = options_.window, .pages = options_.pages},
          ledger),
      windows_(rows, options_.window, ledger) {
  for (unsigned i = 0; i < options_.slots; ++i) {
    slots_.push_back(std::make_unique<Slot>(ledger, options_.fanout.size(), options_.pages));
  }
  for (unsigned i = 0; i < options_.workers; ++i) {
    makers_.push_back(std::make_unique<Worker>(topology, rows, options_, ledger));
  }
}

void Pipeline::start(const Pass& pass) {
  stop();
  if (!taken_.empty()) fail(ErrorKind::internal, "{} batches not given back", taken_.size());
  pass_ = pass;
  batch_count_ = count_batches();
  next_to_make_ = pass.first_batch;
  next_to_take_ = begin_of(pass.first_batch);
  again_.clear();
  ready_.clear();
  free_.clear();
  making_ = 0;
  most_seeds_ = UINT64_MAX;
  paused_ = crowded_ = making_window_ = false;
  lone_batch_.reset();
  for (const auto& slot : slots_) free_.push_back(slot.get());
  failure_ = nullptr;
  window_maker_.release();
  windows_.begin(pass.first_batch, batch_count_, uses_windows());
  if (windows_.in_use()) {
    threads_.emplace_back([this](const std::stop_token& stopping) { make_windows(stopping); });
  }
  for (const auto& worker : makers_) {
    threads_.emplace_back(
        [this, &worker](const std::stop_token& stopping) { work(stopping, *worker); });
  }
}

void Pipeline::stop() {
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();
}

uint64_t Pipeline::seeds_of(uint64_t index) const {
  return std::min(pass_->batch_size, pass_->seeds.size() - index * pass_->batch_size);
}

// All of a batch that this pipeline makes.
Pipeline::Range Pipeline::whole(uint64_t index) const {
  const uint64_t seeds = seeds_of(index);
  return {index, pass_->cut.begin(seeds), pass_->cut.end(seeds)};
}

// The batches of the pass in which this pipeline has a part.
uint64_t Pipeline::count_batches() const {
  if (pass_->batch_size < pass_->cut.parts) {
    fail(ErrorKind::internal, "batches of {} seeds, cut into {} parts", pass_->batch_size,
         pass_->cut.parts);
  }
  const uint64_t batches = pass_->seeds.batches(pass_->batch_size);
  const bool last_is_empty = batches > 0 && pass_->cut.empty(seeds_of(batches - 1));
  return last_is_empty ? batches - 1 : batches;
}

// Where the batch begins; `last` is not set.
Pipeline::Range Pipeline::begin_of(uint64_t index) const {
  return {.index = index, .first = index < batch_count_ ? whole(index).first : 0};
}

void Pipeline::work(const std::stop_token& stopping, Worker& worker) {
  try {
    while (claim(stopping, worker)) {
      std::exception_ptr refused;
      try {
        make(worker);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::memory) throw;
        refused = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      --making_;
      changed_.notify_all();
      if (worker.window != nullptr) windows_.batch_ended(*worker.window);
      if (refused) {
        if (!make_smaller(worker)) std::rethrow_exception(refused);
        continue;
      }
      if (worker.alone) crowded_ = false;
      ready_[worker.slot->range] = worker.slot;
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    changed_.notify_all();
  }
  worker.stage = Stage::idle;
}

// Takes a slot and chooses what to make in it: a batch to be made again, or the next one. Waits
// even if all batches are made, because one may have to be made again; false if the pipeline stops
// or a worker failed.
bool Pipeline::claim(const std::stop_token& stopping, Worker& worker) {
  std::unique_lock lock(mutex_);
  worker.stage = alone() ? Stage::waiting_for_memory : Stage::waiting_for_slots;
  const bool go_on = changed_.wait(lock, stopping, [&] {
    if (failure_) return true;
    // While a batch is alone, no window is made.
    const uint64_t end = windows_.in_use() && !alone() ? windows_.end() : batch_count_;
    const bool has_work = !again_.empty() || next_to_make_ < end;
    return has_work && !free_.empty() && !paused_ && !(alone() && others_hold());
  });
  if (!go_on || stopping.stop_requested() || failure_) return false;
  worker.alone = alone();
  if (worker.alone) give_back_all();
  worker.slot = free_.back();
  worker.window = nullptr;
  free_.pop_back();
  Range& range = worker.slot->range;
  if (again_.empty()) {
    range = whole(next_to_make_++);
    windows_.skip_to(next_to_make_);
    worker.window = windows_.find(range.index);
  } else {
    range = *again_.begin();
    again_.erase(again_.begin());
  }
  if (range.last - range.first > most_seeds_) {
    again_.insert({range.index, range.first + most_seeds_, range.last});
    range.last = range.first + most_seeds_;
  }
  ++making_;
  return true;
}

void Pipeline::make(Worker& worker) {
  const Clock::time_point start = Clock::now();
  const io::ReadQueue::Counts read_before = worker.sampler.counts();
  const Gatherer::Counts rows_before = worker.gatherer.counts();
  worker.stage = Stage::sampling;
  const Range& range = worker.slot->range;
  Assembler& assembler = worker.slot->assembler;
  const Window* const window = worker.window == nullptr ? nullptr : &worker.window->window;
  if (window != nullptr && range.last == whole(range.index).last) {
    std::swap(assembler.neighborhood(),
              worker.window->window.neighborhoods[range.index - window->first]);
  } else {
    const uint64_t key = begin_draws(range, assembler.neighborhood());
    const auto seeds = assembler.neighborhood().nodes.first(range.last - range.first);
    worker.seeds.renew(seeds.size());
    const auto copy = worker.seeds.first(seeds.size());
    std::copy(seeds.begin(), seeds.end(), copy.begin());
    worker.sampler.sample(copy, key, assembler.neighborhood());
  }
  begin(range, assembler);
  const Clock::time_point sampled = Clock::now();
  worker.stage = Stage::gathering;
  Assembly assembly = options_.assembly;
  assembly.gradients = pass_->gradients;
  assembler.prepare(assembly, rows_.shape().columns);
  worker.gatherer.gather(assembler, window);
  if (options_.flat != nullptr) {
    const Pass& pass = *pass_;
    const uint64_t first = assembler.batch().first_seed;
    assembler.flat().fill(assembler.neighborhood(), *options_.flat, assembler.batch().labels,
                          [&](uint32_t i) { return pass.seeds.place(first + i); });
  }
  const io::ReadQueue::Counts read = worker.sampler.counts();
  const Gatherer::Counts rows = worker.gatherer.counts();
  const std::lock_guard lock(mutex_);
  times_.sample += std::chrono::duration<double>(sampled - start).count();
  times_.gather += seconds_since(sampled);
  add_reads(read_before, read, [&] { return worker.sampler.queue().method(); });
  reads_.rows += rows.rows - rows_before.rows;
  reads_.rows_on_disk += rows.from_disk - rows_before.from_disk;
}

// Call with the mutex held.
void Pipeline::add_reads(const io::ReadQueue::Counts& before, const io::ReadQueue::Counts& after,
                         const std::function<std::string()>& method) {
  reads_.reads += after.reads - before.reads;
  reads_.bytes += after.bytes - before.bytes;
  reads_.seconds += after.seconds - before.seconds;
  if (reads_.method.empty() && after.reads > 0) reads_.method = method();
}

// Writes the seeds of a batch or of a part of it, and returns the key of its draws.
uint64_t Pipeline::begin_draws(const Range& range, sample::Neighborhood& out) const {
  const Pass& pass = *pass_;
  const uint64_t first = range.index * pass.batch_size + range.first;
  const uint64_t count = range.last - range.first;
  out.seeds = static_cast<uint32_t>(count);
  out.nodes.renew(count);
  for (uint64_t i = 0; i < count; ++i) out.nodes[i] = pass.seeds.node(pass.seeds.place(first + i));
  return RandomStream(pass.key, range.index).at(0);
}

// Fills in what a batch is besides its neighbourhood and its rows.
void Pipeline::begin(const Range& range, Assembler& assembler) {
  const Pass& pass = *pass_;
  const uint64_t first = range.index * pass.batch_size + range.first;
  const uint64_t count = pass.labels.empty() ? 0 : range.last - range.first;
  assembler.labels().renew(count);
  for (uint64_t i = 0; i < count; ++i) {
    assembler.labels()[i] = pass.labels[pass.seeds.place(first + i)];
  }
  Batch& batch = assembler.batch();
  batch.index = range.index;
  batch.first_seed = first;
  const Range all = whole(range.index);
  batch.before = static_cast<uint32_t>(range.first - all.first);
  batch.whole = static_cast<uint32_t>(all.last - all.first);
  batch.of_all = static_cast<uint32_t>(seeds_of(range.index));
  batch.labels = assembler.labels().first(count);
}

bool Pipeline::uses_windows() const {
  return options_.window.batches > 1 && !(rows_.file().resident() && topology_.resident());
}

// The thread that makes windows.
void Pipeline::make_windows(const std::stop_token& stopping) {
  try {
    while (std::unique_ptr<WindowQueue::Entry> entry = claim_window(stopping)) {
      const WindowMaker::Times times_before = window_maker_.times();
      const io::ReadQueue::Counts read_before = window_maker_.reads();
      bool refused = false;
      making_window_ = true;
      try {
        window_maker_.make(entry->window, entry->window.first, entry->wanted,
                           [&](uint64_t index, sample::Neighborhood& out) {
                             return begin_draws(whole(index), out);
                           });
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::memory) throw;
        refused = true;
      }
      making_window_ = false;
      const std::lock_guard lock(mutex_);
      --making_;
      changed_.notify_all();
      times_.sample += window_maker_.times().sample - times_before.sample;
      times_.gather += window_maker_.times().read - times_before.read;
      add_reads(read_before, window_maker_.reads(), [&] { return window_maker_.read_method(); });
      if (refused) {
        // Before a worker that waits for memory goes on.
        windows_.refused(std::move(entry));
        window_maker_.release();
      } else {
        ++reads_.windows;
        reads_.window_batches += entry->window.count;
        windows_.open(std::move(entry));
      }
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    changed_.notify_all();
  }
}

// Waits for a free window; null if the pipeline stops, if a worker failed or if there is nothing
// left for windows.
std::unique_ptr<WindowQueue::Entry> Pipeline::claim_window(const std::stop_token& stopping) {
  std::unique_lock lock(mutex_);
  const bool go_on = changed_.wait(lock, stopping, [&] {
    if (failure_ || !windows_.in_use()) return true;
    return windows_.has_more() && windows_.can_take() && !paused_ && !alone();
  });
  if (!go_on || stopping.stop_requested() || failure_ || !windows_.in_use()) return nullptr;
  std::unique_ptr<WindowQueue::Entry> entry = windows_.take();
  if (entry) {
    ++making_;
  } else {
    changed_.notify_all();
  }
  return entry;
}

// Releases all memory of a slot.
void Pipeline::empty(Slot& slot) {
  slot.assembler = Assembler(ledger_, options_.fanout.size(), options_.pages);
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

// After a refused lease: drops what the worker made, to be made again alone in memory. If it does
// not fit alone, parts have half as many seeds from then on. Returns false if a single seed does
// not fit. Call with the mutex held.
bool Pipeline::make_smaller(Worker& worker) {
  const Range range = worker.slot->range;
  again_.insert(range);
  empty(*worker.slot);
  free_.push_back(worker.slot);
  crowded_ = true;
  if (!worker.alone) return true;
  if (range.last - range.first == 1) return false;
  most_seeds_ = std::min(most_seeds_, (range.last - range.first) / 2);
  return true;
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
  while (!changed_.wait_for(lock, options_.patience, [&] { return can_take(); })) {
    if (!options_.on_stall) continue;
    const std::string what = describe();
    lock.unlock();
    options_.on_stall(what);
    lock.lock();
  }
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
