// What a training does between epochs: evaluate, judge the epoch, write checkpoints; and resuming
// from one.
#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/run_files.h"
#include "base/units.h"
#include "memory/usage.h"
#include "recipe/recipe.h"
#include "train/trainer.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

constexpr double kLeastWriteSeconds = 10;  // between checkpoints if epochs are short
constexpr uint64_t kPlateauPatience = 5;   // evaluations before the rate is reduced
constexpr double kPlateauFactor = 0.5;

}  // namespace

void Trainer::resume() {
  const fs::path file = job_.save_dir / kLastCheckpoint;
  Checkpoint checkpoint = read_checkpoint(file, job_.ledger);
  if (!(checkpoint.shape == model_.shape())) {
    fail(ErrorKind::input, "{} holds {}, this run is {}: not the same model or data set",
         file.string(), describe(checkpoint.shape), describe(model_.shape()));
  }
  if (checkpoint.store.checksum != store_.checksum) {
    fail(ErrorKind::input,
         "{} was trained on {} (checksum {}), this store is {} (checksum {}); resume on the same "
         "store (one with precomputed sums is a different store), or start a new run",
         file.string(), checkpoint.store.name, checkpoint.store.checksum, store_.name,
         store_.checksum);
  }
  if (checkpoint.position.epoch > recipe_.epochs) {
    fail(ErrorKind::usage, "--epochs {}: {} already has {}; give at least as many", recipe_.epochs,
         file.string(), checkpoint.position.epoch);
  }
  load_model(checkpoint, file, model_);
  load_adam(checkpoint, file, model_, adam_);
  position_ = std::move(checkpoint.position);
  position_.series.reserve(recipe_.epochs);
  last_good_ = file.string();
  say("  so far    {} epoch{} and {} batch{} of the next{}\n", position_.epoch,
      position_.epoch == 1 ? "" : "s", position_.batch, position_.batch == 1 ? "" : "es",
      finished() ? "; nothing left to train, raise --epochs to train more" : "");
}

void Trainer::finish_epoch() {
  EpochResult result{.epoch = position_.epoch + 1,
                     .loss = position_.loss_sum / static_cast<double>(position_.seeds),
                     .lr = learning_rate()};
  const bool last = result.epoch == recipe_.epochs;
  const bool evaluated = is_evaluated(result.epoch);
  const auto is_due = [&] { return !written_ || seconds_since(last_write_) > kLeastWriteSeconds; };
  if (evaluated) {
    if (is_due()) write_checkpoints();  // an evaluation may take long or run out of memory
    const auto shares = accuracies(inference_, evaluated_splits(), report_);
    result.valid_accuracy = shares[0];
    result.test_accuracy = shares[1];
  }
  const double seconds = seconds_since(epoch_start_);
  epoch_start_ = Clock::now();
  result.seconds = position_.epoch_seconds + seconds;
  position_.total_seconds += seconds;
  position_.series.push_back(result);
  position_.epoch = result.epoch;
  position_.batch = 0;
  position_.loss_sum = 0;
  position_.seeds = 0;
  position_.epoch_seconds = 0;
  report_.epoch({.epoch = result.epoch,
                 .loss = result.loss,
                 .valid_accuracy = result.valid_accuracy,
                 .test_accuracy = result.test_accuracy,
                 .seconds = result.seconds,
                 .best = evaluated && is_best(result)});
  if (log_) log_->add(log_step(result, memory::process_usage().resident_bytes));
  if (evaluated) judge(result);
  if (diary_ != nullptr) diary_->epoch(result, position_.best_epoch);
  const bool named = job_.save_every > 0 && result.epoch % job_.save_every == 0;
  if (named) write_named_checkpoint();
  if (last || named || is_due()) write_checkpoints();
}

// By validation accuracy, or by loss if there are no validation nodes.
bool Trainer::is_best(const EpochResult& result) const {
  if (position_.best_epoch == 0) return true;
  return result.valid_accuracy ? result.valid_accuracy > position_.best_valid
                               : result.loss < position_.best_loss;
}

// Writes the best checkpoint if this is the best epoch so far, or updates the plateau schedule.
void Trainer::judge(const EpochResult& result) {
  if (is_best(result)) {
    position_.best_epoch = result.epoch;
    position_.best_valid = result.valid_accuracy;
    position_.best_test = result.test_accuracy;
    position_.best_loss = result.loss;
    position_.worse_in_a_row = 0;
    position_.plateau = 0;
    if (!writes()) return;
    best_.emplace(job_.save_dir / kBestCheckpoint);
    write_torch_file(best_->file(), make_checkpoint(model_, adam_, recipe_, store_, position_));
    return;
  }
  ++position_.worse_in_a_row;
  if (recipe_.schedule == recipe::Schedule::plateau && ++position_.plateau >= kPlateauPatience) {
    position_.lr_scale *= kPlateauFactor;
    position_.plateau = 0;
  }
}

void Trainer::count_time() {
  const double seconds = seconds_since(epoch_start_);
  epoch_start_ = Clock::now();
  position_.epoch_seconds += seconds;
  position_.total_seconds += seconds;
}

// best.pth comes first: if the process is killed between the two, a run that resumes from last.pth
// finds the same best epoch again.
void Trainer::write_checkpoints() {
  data_.check_unchanged();
  look_at_losses();
  count_time();
  last_write_ = Clock::now();
  written_ = true;
  if (!writes()) return;
  if (best_) {
    best_->commit();
    best_.reset();
  }
  const fs::path last = job_.save_dir / kLastCheckpoint;
  write_torch_file(last, make_checkpoint(model_, adam_, recipe_, store_, position_));
  last_good_ = last.string();
  last_write_ = Clock::now();
}

void Trainer::write_named_checkpoint() {
  data_.check_unchanged();
  if (!writes()) return;
  const fs::path file = job_.save_dir / fmt::format("epoch_{:03}.pth", position_.epoch);
  write_torch_file(file, make_checkpoint(model_, adam_, recipe_, store_, position_));
  last_good_ = file.string();
}

}  // namespace plimsoll::train
