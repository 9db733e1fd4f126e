#include "batch/pipeline.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/random.h"

namespace plimsoll::batch {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Pipeline::Pipeline(const sample::Topology& topology, kernel::Rows rows, PipelineOptions options,
                   memory::Ledger& ledger)
    : topology_(topology), rows_(rows), options_(std::move(options)) {
  for (unsigned i = 0; i < options_.slots; ++i) {
    slots_.push_back(std::make_unique<Slot>(ledger, options_.fanout.size(), options_.pages));
  }
  for (unsigned i = 0; i < options_.workers; ++i) {
    samplers_.push_back(std::make_unique<sample::Sampler>(topology_, options_.fanout, ledger));
  }
}

void Pipeline::start(const Pass& pass) {
  stop();
  if (!taken_.empty()) fail(ErrorKind::internal, "{} batches not given back", taken_.size());
  pass_ = pass;
  batch_count_ = pass.seeds.batches(pass.batch_size);
  next_to_make_ = next_to_take_ = pass.first_batch;
  ready_.clear();
  free_.clear();
  for (const auto& slot : slots_) free_.push_back(slot.get());
  failure_ = nullptr;
  for (const auto& sampler : samplers_) {
    workers_.emplace_back(
        [this, &sampler](const std::stop_token& stopping) { work(stopping, *sampler); });
  }
}

void Pipeline::stop() {
  for (auto& worker : workers_) worker.request_stop();
  workers_.clear();
}

void Pipeline::work(const std::stop_token& stopping, sample::Sampler& sampler) {
  std::vector<uint32_t> seeds;
  try {
    for (;;) {
      Slot* slot = nullptr;
      uint64_t index = 0;
      {
        std::unique_lock lock(mutex_);
        const auto has_work = [&] { return !free_.empty() || next_to_make_ >= batch_count_; };
        const bool go_on = slot_free_.wait(lock, stopping, has_work) && !stopping.stop_requested();
        if (!go_on || failure_ || next_to_make_ >= batch_count_) return;
        slot = free_.back();
        free_.pop_back();
        index = next_to_make_++;
      }
      make(sampler, seeds, *slot, index);
      const std::lock_guard lock(mutex_);
      ready_[index] = slot;
      if (index == next_to_take_) batch_ready_.notify_one();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    batch_ready_.notify_one();
    slot_free_.notify_all();
  }
}

void Pipeline::make(sample::Sampler& sampler, std::vector<uint32_t>& seeds, Slot& slot,
                    uint64_t index) {
  const Clock::time_point start = Clock::now();
  const Pass& pass = *pass_;
  const uint64_t first = index * pass.batch_size;
  const uint64_t count = std::min(pass.batch_size, pass.seeds.size() - first);
  Assembler& assembler = slot.assembler;
  seeds.resize(count);
  if (!pass.labels.empty()) assembler.labels().renew(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t place = pass.seeds.place(first + i);
    seeds[i] = pass.seeds.node(place);
    if (!pass.labels.empty()) assembler.labels()[i] = pass.labels[place];
  }
  sampler.sample(seeds, RandomStream(pass.key, index).at(0), assembler.neighborhood());
  const Clock::time_point sampled = Clock::now();
  Assembly assembly = options_.assembly;
  assembly.gradients = pass.gradients;
  assembler.assemble(topology_, rows_, assembly);
  Batch& batch = assembler.batch();
  batch.index = index;
  batch.first_seed = first;
  batch.labels = assembler.labels().first(pass.labels.empty() ? 0 : count);
  const std::lock_guard lock(mutex_);
  times_.sample += std::chrono::duration<double>(sampled - start).count();
  times_.gather += seconds_since(sampled);
}

const Batch* Pipeline::take() {
  const Clock::time_point start = Clock::now();
  std::unique_lock lock(mutex_);
  if (next_to_take_ >= batch_count_) return nullptr;
  batch_ready_.wait(lock, [&] { return failure_ || ready_.contains(next_to_take_); });
  if (failure_) std::rethrow_exception(failure_);
  times_.waiting += seconds_since(start);
  Slot* slot = ready_.extract(next_to_take_++).mapped();
  const Batch* batch = &slot->assembler.batch();
  taken_[batch] = slot;
  return batch;
}

void Pipeline::give_back(const Batch* batch) {
  const std::lock_guard lock(mutex_);
  free_.push_back(taken_.extract(batch).mapped());
  slot_free_.notify_one();
}

StageTimes Pipeline::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

}  // namespace plimsoll::batch
