// The side of the pipeline that makes batches and windows, on threads of its own. The trainer's
// side is in pipeline.cc.
#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "batch/pipeline.h"

namespace plimsoll::batch {

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
  const auto start = std::chrono::steady_clock::now();
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
    const uint64_t key = begin_draws(*pass_, range, assembler.neighborhood());
    const auto seeds = assembler.neighborhood().nodes.first(range.last - range.first);
    worker.seeds.renew(seeds.size());
    const auto copy = worker.seeds.first(seeds.size());
    std::copy(seeds.begin(), seeds.end(), copy.begin());
    worker.sampler.sample(copy, key, assembler.neighborhood());
  }
  begin(range, assembler);
  const auto sampled = std::chrono::steady_clock::now();
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
uint64_t Pipeline::begin_draws(const Pass& pass, const Range& range, sample::Neighborhood& out) {
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
  batch.of_all = static_cast<uint32_t>(pass.seeds_of(range.index));
  batch.labels = assembler.labels().first(count);
}

bool Pipeline::uses_windows() const {
  return options_.window.batches > 1 && !(rows_.file().resident() && topology_.resident());
}

// The thread that makes windows.
void Pipeline::make_windows(const std::stop_token& stopping) {
  try {
    while (std::optional<WindowTask> task = claim_window(stopping)) {
      if (task->entry) fill(*task);
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    filling_ahead_ = false;
    changed_.notify_all();
  }
}

void Pipeline::fill(WindowTask& task) {
  const WindowMaker::Times times_before = window_maker_.times();
  const io::ReadQueue::Counts read_before = window_maker_.reads();
  WindowQueue::Entry& entry = *task.entry;
  bool refused = false;
  making_window_ = true;
  try {
    window_maker_.make(entry.window, entry.window.first, entry.wanted,
                       [&](uint64_t index, sample::Neighborhood& out) {
                         return begin_draws(task.pass, whole(task.pass, index), out);
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
  if (!refused) {
    ++reads_.windows;
    reads_.window_batches += entry.window.count;
    task.ahead ? windows_.keep_ahead(std::move(task.entry)) : windows_.open(std::move(task.entry));
  } else {
    // Before a worker that waits for memory goes on. The next pass makes its own first window.
    task.ahead ? task.entry.reset() : windows_.refused(std::move(task.entry));
    window_maker_.release();
  }
  if (task.ahead) filling_ahead_ = false;
}

// Whether the next pass can have its first window now: the disk has nothing else to do.
bool Pipeline::can_look_ahead() const {
  return !windows_.has_more() && !tried_ahead_ && !expected_.empty() && windows_.can_take() &&
         !paused_ && !alone();
}

// Waits for a free window; empty if the pipeline stops, if a worker failed or if there is nothing
// left for windows.
std::optional<Pipeline::WindowTask> Pipeline::claim_window(const std::stop_token& stopping) {
  std::unique_lock lock(mutex_);
  const bool go_on = changed_.wait(lock, stopping, [&] {
    if (failure_ || !windows_.in_use() || can_look_ahead()) return true;
    return windows_.has_more() && windows_.can_take() && !paused_ && !alone();
  });
  if (!go_on || stopping.stop_requested() || failure_ || !windows_.in_use()) return {};
  WindowTask task{.pass = *pass_, .ahead = can_look_ahead()};
  if (task.ahead) {
    tried_ahead_ = true;
    task.pass = expected_.front();
    const uint64_t batches = count_batches(task.pass);
    if (task.pass.first_batch >= batches) return task;
    task.entry = windows_.take_ahead({task.pass.first_batch, batches});
    filling_ahead_ = task.entry != nullptr;
  } else {
    task.entry = windows_.take();
  }
  if (task.entry) {
    ++making_;
  } else {
    changed_.notify_all();
  }
  return task;
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

}  // namespace plimsoll::batch
