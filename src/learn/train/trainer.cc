#include "train/trainer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>
#include <utility>

#include "base/defer_interrupts.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "base/units.h"
#include "nn/threads.h"
#include "recipe/recipe.h"
#include "train/footprint.h"
#include "train/torch_errors.h"

namespace plimsoll::train {
namespace {

constexpr size_t kLossesAtOnce = 64;  // read together from a GPU
constexpr size_t kEpochsForPace = 5;  // that the time left is estimated from

using recipe::epoch_key;
using recipe::Purpose;

}  // namespace

Trainer::Trainer(const TrainJob& job, const Prepared& prepared)
    : job_(job),
      group_(static_cast<RankGroup*>(job.group)),
      recipe_(job.recipe),
      data_(prepared.data),
      device_(prepared.device),
      report_(TrainReport::wants_bars(job.run.quiet)),
      place_{prepared.data.topology, job.plan.arrangement, prepared.device, job.ledger,
             [this](const std::string& what) { report_.note(what); }},
      store_(identity_of(job.store)),
      model_(shape_of(recipe_, job.store), epoch_key(recipe_.seed, Purpose::parameters, 0),
             prepared.device),
      adam_(model_.values()),
      feed_(place_, prepared.data.rows, batches_of(recipe_, job.store.meta().first_layer)),
      gpu_(prepared.gpu),
      inference_(model_, place_, prepared.data.rows, feed_,
                 {.evaluation = recipe_.evaluation,
                  .batch_size = recipe_.batch_size,
                  .seed = recipe_.seed,
                  .first_layer = job.store.meta().first_layer,
                  .scratch = job.save_dir,
                  .full_batch_bytes = job.plan.full_batch_bytes,
                  .check = [this] { room_keeper_.rethrow_failure(); },
                  .group = group_}),
      series_lease_(job.ledger.lease("epochs", series_bytes(recipe_.epochs))),
      last_write_(Clock::now()),
      room_keeper_(job.ledger, prepared.data.rows.file(), prepared.needed_bytes,
                   prepared.data.shared_line.get()),
      timeline_(prepared.timeline),
      diary_(prepared.diary) {
  nn::set_computing_threads(job.plan.arrangement.computing);
  position_.series.reserve(recipe_.epochs);
}

int Trainer::run() {
  if (job_.resume) resume();
  if (job_.resume && finished() && is_complete()) {
    say("nothing left to do; {} is unchanged\n", (job_.save_dir / kResultsFile).string());
    return 0;
  }
  if (gpu_ != nullptr) {
    gpu_->prepare(model_, &adam_);
    inference_.use(*gpu_);
    if (diary_ != nullptr) diary_->gpu_memory(gpu_->memory());
  }
  if (job_.resume && diary_ != nullptr) diary_->resume(position_.series, position_.best_epoch);
  if (writes()) {
    log_ = open_logs(job_, store_.name, position_.series,
                     [this](const std::string& what) { report_.note(what); });
  }
  epoch_start_ = Clock::now();
  try {
    while (!finished()) {
      report_.begin_epoch({position_.epoch + 1, recipe_.epochs, usual_epoch_seconds()});
      if (!train_epoch()) throw Interrupted(asked_to_stop());
      finish_epoch();
    }
  } catch (const Interrupted& interrupted) {
    report_.end_pass();
    feed_.feeder.drop();
    look_at_losses();
    write_checkpoints();
    end(Status::stopped);
    return interrupted.signal_number();
  } catch (...) {
    const auto error = as_error(std::current_exception());
    const bool worth_saving =
        error && (error->kind() == ErrorKind::memory || error->kind() == ErrorKind::disk ||
                  error->kind() == ErrorKind::lost);
    if (!worth_saving || batches_done_ == 0 || !writes()) throw;
    save_and_fail(*error);
  }
  return end(wants_early_stop() ? Status::early_stopped : Status::finished);
}

void Trainer::save_and_fail(const Error& error) {
  try {
    report_.end_pass();
    release_batches();
    write_checkpoints();
  } catch (...) {
    throw Error(error);  // the user must see the first error, whatever went wrong since
  }
  fail(error.kind(), "{}\nThe progress so far is saved in {}{}", error.what(), last_good_,
       error.kind() == ErrorKind::lost ? "" : "; continue with train --resume");
}

void Trainer::release_batches() {
  feed_.feeder.drop();
  feed_.pipeline.release();
}

bool Trainer::wants_early_stop() const {
  return recipe_.patience > 0 && position_.worse_in_a_row >= recipe_.patience;
}

// The mean of the last few epochs, with their evaluations; 0 before the first.
double Trainer::usual_epoch_seconds() const {
  const auto& series = position_.series;
  const auto last = std::min<size_t>(series.size(), kEpochsForPace);
  double seconds = 0;
  for (size_t i = series.size() - last; i < series.size(); ++i) seconds += series[i].seconds;
  return last == 0 ? 0 : seconds / static_cast<double>(last);
}

bool Trainer::finished() const { return position_.epoch >= recipe_.epochs || wants_early_stop(); }

double Trainer::learning_rate() const {
  if (recipe_.schedule == recipe::Schedule::cosine) {
    const double done = static_cast<double>(position_.epoch) / static_cast<double>(recipe_.epochs);
    return recipe_.lr * 0.5 * (1 + std::cos(std::numbers::pi * done));
  }
  return recipe_.lr * position_.lr_scale;
}

bool Trainer::train_epoch() {
  // Ranks agree after which batch they stop. One that gave up a batch would leave the others
  // waiting.
  std::optional<DeferInterrupts> together;
  if (group_ != nullptr) together.emplace();
  const batch::Pass pass = training_pass(position_.epoch, position_.batch);
  const uint64_t total = pass.seeds.batches(recipe_.batch_size);
  if (position_.batch >= total) return true;  // the run was stopped during the evaluation
  if (++passes_ == 2) pace_ = {};             // the first epoch warms up
  const Clock::time_point start = Clock::now();
  const batch::StageTimes before = feed_.pipeline.times();
  const double waited_before = gpu_ == nullptr ? 0 : gpu_->waited_seconds();
  const auto stop_watch = [&] {
    const batch::StageTimes now = feed_.pipeline.times();
    pace_.stages.sample += now.sample - before.sample;
    pace_.stages.gather += now.gather - before.gather;
    pace_.stages.waiting += now.waiting - before.waiting;
    if (gpu_ != nullptr) pace_.stages.waiting += gpu_->waited_seconds() - waited_before;
    pace_.seconds += seconds_since(start);
  };
  report_.begin_pass(kTrainingTitle, total, position_.batch);
  try {
    const bool ended = gpu_ != nullptr ? train_on_gpu(total) : train_on_pipeline(pass);
    stop_watch();
    return ended;
  } catch (const Interrupted&) {
    stop_watch();
    throw;
  }
}

batch::Pass Trainer::training_pass(uint64_t epoch, uint64_t first_batch) const {
  return {.seeds = batch::Seeds::shuffled(data_.splits.train.nodes.span(),
                                          epoch_key(recipe_.seed, Purpose::shuffle, epoch)),
          .labels = data_.splits.train.labels.span(),
          .batch_size = recipe_.batch_size,
          .first_batch = first_batch,
          .key = epoch_key(recipe_.seed, Purpose::draws, epoch),
          .gradients = true,
          .cut = inference_.cut()};
}

std::vector<batch::Pass> Trainer::passes_after_this_epoch() const {
  const uint64_t next = position_.epoch + 1;
  std::vector<batch::Pass> passes;
  if (is_evaluated(next)) {
    if (inference_.is_full()) return {};
    passes = evaluation_passes(inference_, evaluated_splits());
  }
  if (next < recipe_.epochs) passes.push_back(training_pass(next, 0));
  return passes;
}

bool Trainer::train_on_pipeline(const batch::Pass& pass) {
  const batch::Seeds& seeds = pass.seeds;
  const uint64_t total = seeds.batches(recipe_.batch_size);
  feed_.feeder.start(pass);
  feed_.pipeline.expect(passes_after_this_epoch());
  for (FedBatch* fed = &feed_.feeder.next(); fed->batch != nullptr; fed = &feed_.feeder.next()) {
    room_keeper_.rethrow_failure();  // here, so that a computed batch is also counted
    const bool ended = fed->batch->last_part();
    if (!train_batch(*fed) || !ended) continue;
    ++position_.batch;
    ++batches_done_;
    ++pace_.batches;
    show_batch(total);
    if (asked_to_stop() != 0) return false;
    if (seconds_since(last_write_) > job_.checkpoint_minutes * 60) write_checkpoints();
  }
  if (position_.batch < total) {
    // The last batch has fewer seeds than there are ranks, and none for this one.
    model_.gradients().zero_();
    finish_batch(position_.batch, seeds.size() - position_.batch * recipe_.batch_size, {});
    ++position_.batch;
    ++batches_done_;
    if (asked_to_stop() != 0) return false;
  }
  look_at_losses();
  report_.end_pass();
  return true;
}

// The GPU is given batch after batch; their losses are read together.
bool Trainer::train_on_gpu(uint64_t total) {
  const uint64_t epoch = position_.epoch;
  const auto key = [&](Purpose purpose) { return epoch_key(recipe_.seed, purpose, epoch); };
  gpu_->begin({.split = data_.splits.train,
               .shuffle_key = key(Purpose::shuffle),
               .draws_key = key(Purpose::draws),
               .dropout_key = key(Purpose::dropout),
               .first_batch = position_.batch,
               .lr = learning_rate()});
  while (position_.batch < total) {
    room_keeper_.rethrow_failure();
    gpu_->train();
    ++gpu_batches_;
    ++position_.batch;
    ++batches_done_;
    ++pace_.batches;
    if (gpu_batches_ >= kLossesAtOnce || position_.batch == total) look_at_losses();
    show_batch(total);
    if (asked_to_stop() != 0) return false;
    if (seconds_since(last_write_) > job_.checkpoint_minutes * 60) write_checkpoints();
  }
  report_.end_pass();
  return true;
}

void Trainer::show_batch(uint64_t total) {
  const double loss =
      position_.loss_sum / static_cast<double>(std::max<uint64_t>(1, position_.seeds));
  report_.advance(position_.batch, loss);
  if (diary_ != nullptr) diary_->batch(position_.epoch + 1, position_.batch, total, loss);
}

bool Trainer::train_batch(FedBatch& fed) {
  const batch::Batch& batch = *fed.batch;
  if (group_ != nullptr) group_->progress();
  if (batch.first_part()) {
    model_.gradients().zero_();
    parts_loss_.reset();
  }
  bool fits = fed.tensors.has_value();
  std::string why = kNoRoomForCopy;
  try {
    if (fits) {
      const at::Tensor loss = forward_backward(*fed.tensors, batch.of_all);
      parts_loss_ = parts_loss_.defined() ? parts_loss_.add(loss) : loss;
    }
  } catch (...) {
    if (!is_shortage(std::current_exception())) throw;
    why = as_error(std::current_exception())->what();
    fits = false;
  }
  if (!fits) {
    begin_again(batch, why);
    return false;
  }
  if (batch.last_part()) finish_batch(batch.index, batch.of_all, parts_loss_);
  feed_.feeder.done();
  return true;
}

void Trainer::finish_batch(uint64_t index, uint64_t seeds, const at::Tensor& loss) {
  losses_.push_back({index, seeds, group_ == nullptr ? loss : add_up_ranks(loss)});
  if (device_.is_cpu() || losses_.size() >= kLossesAtOnce) look_at_losses();
  const Clock::time_point start = Clock::now();
  adam_.step(model_.values(), model_.gradients(), learning_rate(), recipe_.weight_decay);
  pace_.computing.step += seconds_since(start);
}

// One all-reduce for everything. The gradient of each rank is already divided by the number of all
// seeds of the batch, so the sum is the gradient of the batch.
at::Tensor Trainer::add_up_ranks(const at::Tensor& loss) {
  constexpr int64_t kExtra = 3;  // the loss, how many were asked to stop, the sum of their signals
  const Clock::time_point start = Clock::now();
  const int64_t parameters = model_.parameter_count();
  if (!sums_.defined()) sums_ = at::empty({parameters + kExtra}, at::kFloat);
  sums_.narrow(0, 0, parameters).copy_(model_.gradients());
  const int own_signal = pending_interrupt();
  float* const extra = sums_.data_ptr<float>() + parameters;
  extra[0] = loss.defined() ? loss.item<float>() : 0;
  extra[1] = own_signal == 0 ? 0 : 1;
  extra[2] = static_cast<float>(own_signal);
  group_->sum(sums_);
  model_.gradients().copy_(sums_.narrow(0, 0, parameters));
  if (extra[1] > 0) stop_signal_ = static_cast<int>(std::lround(extra[2] / extra[1]));
  pace_.computing.adding_up += seconds_since(start);
  return sums_.narrow(0, parameters, 1).clone().squeeze(0);
}

int Trainer::asked_to_stop() const {
  return group_ == nullptr ? pending_interrupt() : stop_signal_;
}

// Whether the results of all that was trained are written. Rank 0 decides for all.
bool Trainer::is_complete() const {
  const bool here = has_results(job_.save_dir, position_.series.size(), position_.best_epoch);
  return group_ == nullptr ? here : group_->agree(here);
}

// Starts a batch that did not fit again from its beginning, because its gradients are incomplete.
void Trainer::begin_again(const batch::Batch& batch, const std::string& why) {
  model_.forget();
  const uint64_t index = batch.index;
  const uint32_t seeds = batch.seeds;
  if (feed_.feeder.retry(/*from_its_start=*/true)) {
    report_.note(fmt::format(
        "batch {} did not fit into memory with {} seeds at once; trying again with less in memory",
        index + 1, seeds));
    return;
  }
  fail(ErrorKind::memory,
       "computing one seed's neighbourhood does not fit into {}: {}, or lower --fanout or --hidden",
       device_.is_cpu() ? "the limit" : "the device", why);
}

at::Tensor Trainer::forward_backward(const nn::BatchTensors& tensors, int64_t batch_seeds) {
  const Clock::time_point start = Clock::now();
  const uint64_t dropout_key =
      RandomStream(epoch_key(recipe_.seed, Purpose::dropout, position_.epoch), 0)
          .at(position_.batch);
  const at::Tensor logits = model_.forward(tensors, /*training=*/true, dropout_key).logits;
  const nn::Loss loss =
      nn::cross_entropy(logits, tensors.labels, recipe_.label_smoothing, batch_seeds);
  const Clock::time_point middle = Clock::now();
  model_.backward(loss.gradient);
  pace_.computing.forward += std::chrono::duration<double>(middle - start).count();
  pace_.computing.backward += seconds_since(middle);
  return loss.sum;
}

// Adds the pending losses to the epoch's sum, in order. Throws Error{diverged} at the first that is
// not finite.
void Trainer::look_at_losses() {
  look_at_gpu_losses();
  if (losses_.empty()) return;
  std::vector<at::Tensor> sums;
  for (const PendingLoss& loss : losses_) sums.push_back(loss.sum);
  const at::Tensor values = (sums.size() == 1 ? sums[0].view({1}) : at::stack(sums)).to(at::kCPU);
  for (size_t i = 0; i < losses_.size(); ++i) {
    count_loss(losses_[i].batch, losses_[i].seeds, values.data_ptr<float>()[i]);
  }
  losses_.clear();
}

void Trainer::look_at_gpu_losses() {
  if (gpu_batches_ == 0) return;
  std::array<float, kLossesAtOnce> sums = {};
  const uint64_t first = position_.batch - gpu_batches_;
  gpu_->losses(first, std::span(sums).first(gpu_batches_));
  const uint64_t seeds = data_.splits.train.nodes.size();
  const uint64_t count = std::exchange(gpu_batches_, 0);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t begin = (first + i) * recipe_.batch_size;
    count_loss(first + i, std::min(recipe_.batch_size, seeds - begin), sums.at(i));
  }
}

void Trainer::count_loss(uint64_t batch, uint64_t seeds, double sum) {
  if (!std::isfinite(sum) && writes()) {
    report_.end_pass();
    fail(ErrorKind::diverged, "the loss is {} at epoch {}, batch {}; {}. A lower --lr may help",
         std::isnan(sum) ? "not a number" : "infinite", position_.epoch + 1, batch + 1,
         last_good_.empty() ? "no checkpoint has been written yet"
                            : "the last good checkpoint is " + last_good_);
  }
  position_.loss_sum += sum;
  position_.seeds += seeds;
}

}  // namespace plimsoll::train
