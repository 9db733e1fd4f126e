// The end of a run: the best epoch's accuracy on the training nodes, results.json, and a summary of
// time and memory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/interrupt.h"
#include "base/run_files.h"
#include "base/units.h"
#include "memory/usage.h"
#include "train/trainer.h"

namespace plimsoll::train {
// Call only at the end: it loads the best epoch into the model.
std::optional<double> Trainer::train_accuracy_of_best() {
  if (position_.best_epoch == 0) return {};
  const std::filesystem::path file = job_.save_dir / kBestCheckpoint;
  const bool there = !writes() || std::filesystem::exists(file);  // or the user removed it
  const bool all_load = group_ == nullptr ? there : group_->agree(there);
  if (!all_load) return {};
  if (writes()) load_model(read_checkpoint(file, job_.ledger), file, model_);
  if (group_ != nullptr) share_model();
  const std::array<const batch::Split*, 1> splits = {&data_.splits.train};
  return accuracies(inference_, splits, report_).front();
}

// Gives all ranks the parameters of rank 0.
void Trainer::share_model() {
  at::Tensor values = model_.values().to(at::kCPU);
  group_->broadcast(values);
  if (!device_.is_cpu()) model_.values().copy_(values);
}

// The figures of all ranks, on every rank; adds up what results have of all of them.
void Trainer::gather_ranks(Results& results) {
  if (group_ == nullptr) return;
  const uint64_t batches = std::max<uint64_t>(1, pace_.batches);
  const RankFigures own = {
      .rank = group_->place().rank,
      .host = group_->processes()[group_->place().rank].host,
      .device = results.device,
      .batches_per_second = results.batches_per_second,
      .adding_up_ms = 1000 * pace_.computing.adding_up / static_cast<double>(batches),
      .peak_memory_bytes = results.peak_memory_bytes,
      .shared_bytes = data_.shared_bytes,
      .reads = results.reads.reads,
      .read_bytes = results.reads.bytes};
  results.reads.reads = results.reads.bytes = 0;
  for (const std::string& text : group_->exchange(to_text(own))) {
    results.ranks.push_back(parse_figures(text));
    results.reads.reads += results.ranks.back().reads;
    results.reads.bytes += results.ranks.back().read_bytes;
  }
  // The plan is that of all ranks on this host, which share the lines.
  results.peak_memory_bytes = data_.shared_bytes;
  for (const unsigned rank : group_->host_ranks()) {
    const RankFigures& one = results.ranks[rank];
    results.peak_memory_bytes +=
        one.peak_memory_bytes - std::min(one.peak_memory_bytes, one.shared_bytes);
  }
}

// On a GPU that makes its batches, the pipeline only serves evaluations with all neighbours.
batch::ReadCounts Trainer::all_reads() const {
  batch::ReadCounts all = feed_.pipeline.reads();
  if (gpu_ == nullptr) return all;
  const batch::ReadCounts own = gpu_->reads();
  if (all.method.empty()) all.method = own.method;
  all.reads += own.reads;
  all.bytes += own.bytes;
  all.seconds += own.seconds;
  all.rows_on_disk += own.rows_on_disk;
  all.windows += own.windows;
  all.window_batches += own.window_batches;
  return all;
}

Results Trainer::results_so_far(Status status) const {
  Results results{.dataset = store_.name,
                  .recipe = recipe_,
                  .parameters = static_cast<uint64_t>(model_.parameter_count()),
                  .best_epoch = position_.best_epoch,
                  .valid_accuracy = position_.best_valid,
                  .test_accuracy = position_.best_test,
                  .training_seconds = position_.total_seconds,
                  .timestamp = timestamp(std::chrono::system_clock::now()),
                  .status = status,
                  .reads = all_reads(),
                  .planned_epoch_seconds = job_.plan.seconds_an_epoch,
                  .arrangement = place_.arrangement,
                  .store_checksum = store_.checksum,
                  .device = device_.str(),
                  .batches_per_second =
                      pace_.seconds == 0 ? 0 : static_cast<double>(pace_.batches) / pace_.seconds,
                  .batches_run = batches_done_};
  if (pace_.batches == 0) return results;
  const auto each = [&](double seconds) {
    return 1000 * seconds / static_cast<double>(pace_.batches);
  };
  results.stages.waiting = each(pace_.stages.waiting);
  if (gpu_ != nullptr) return results;
  results.stages.sample = each(pace_.stages.sample);
  results.stages.gather = each(pace_.stages.gather);
  results.stages.forward = each(pace_.computing.forward);
  results.stages.backward = each(pace_.computing.backward);
  results.stages.step = each(pace_.computing.step);
  return results;
}

int Trainer::end_training(Results& results) {
  write_checkpoints();
  report_.end_epochs();
  release_batches();  // for the checkpoint of the best epoch
  // From here on the model holds the best epoch, so no checkpoint may be written.
  try {
    results.train_accuracy = train_accuracy_of_best();
  } catch (const Interrupted& interrupted) {
    report_.end_pass();
    feed_.feeder.drop();
    results.status = Status::stopped;
    return interrupted.signal_number();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::memory && error.kind() != ErrorKind::disk) throw;
    report_.end_pass();
    feed_.feeder.drop();
    report_.note(fmt::format("the accuracy on the training nodes is left out: {}", error.what()));
  }
  return 0;
}

void Trainer::add_memory(Results& results) const {
  const memory::ProcessUsage usage = memory::process_usage();
  const uint64_t lent = job_.ledger.used_bytes();
  results.peak_memory_bytes = usage.peak_resident_bytes;
  results.planned_memory_bytes = job_.plan.peak_bytes;
  if (gpu_ != nullptr) results.gpu = gpu_->memory();
  results.unattributed_bytes = usage.resident_bytes > lent ? usage.resident_bytes - lent : 0;
}

int Trainer::end(Status status) {
  Results results = results_so_far(status);
  const int signal_number = status == Status::stopped ? 0 : end_training(results);
  add_memory(results);
  gather_ranks(results);
  if (!writes()) return signal_number;
  if (!job_.memory_log.empty()) write_memory_log(job_.memory_log, timeline_.samples(), job_.plan);
  release_batches();
  results.series = std::move(position_.series);
  write_results(job_.save_dir, results, job_.ledger);
  if (diary_ != nullptr) diary_->end(results.status);
  if (log_) log_->end(log_ending(results));
  print_end(results);
  return signal_number;
}

void Trainer::print_end(const Results& results) const {
  if (job_.run.quiet) return;
  if (results.status == Status::early_stopped) {
    print("stopped early: no better epoch in {} (--patience)\n",
          counted(recipe_.patience, "evaluation"));
  }
  print_learned(results);
  print_speed(results);
  print_memory(results);
  if (job_.run.verbose) {
    print_stages(results);
    print_reads(results.reads);
    print_memory_parts(results);
  }
  print_files(results);
}

void Trainer::print_learned(const Results& results) {
  if (results.series.empty()) return print("learned   nothing yet: no epoch has ended\n");
  std::vector<std::string> parts;
  const auto add = [&](const char* of, const std::optional<double>& share) {
    if (share) parts.push_back(fmt::format("{} {:.4f}", of, *share));
  };
  add("test", results.test_accuracy);
  add("validation", results.valid_accuracy);
  add("training", results.train_accuracy);
  const std::string epochs = counted(results.series.size(), "epoch");
  if (results.best_epoch == 0) {
    print("learned   loss {:.4f} after {}; nothing was evaluated yet\n", results.series.back().loss,
          epochs);
  } else if (parts.empty()) {
    print("learned   loss {:.4f} in epoch {}, the best of {}\n",
          results.series.at(results.best_epoch - 1).loss, results.best_epoch, epochs);
  } else {
    print("learned   accuracy: {} (epoch {}, the best of {})\n",
          fmt::format("{}", fmt::join(parts, ", ")), results.best_epoch, epochs);
  }
}

void Trainer::print_speed(const Results& results) {
  if (results.series.empty()) return;
  const double each = results.training_seconds / static_cast<double>(results.series.size());
  const std::string rate = results.batches_per_second > 0 ? fmt::format("; {:.1f} batches a second",
                                                                        results.batches_per_second)
                                                          : "";
  print("speed     {} in {}, {} each with evaluation{}\n", counted(results.series.size(), "epoch"),
        format_seconds(results.training_seconds),
        each < 0.05 ? std::string("less than 0.1 s") : format_seconds(each), rate);
}

void Trainer::print_memory(const Results& results) const {
  const std::string who = job_.plan.host_ranks == 1
                              ? ""
                              : fmt::format("all {} ranks of this host: ", job_.plan.host_ranks);
  print("memory    {}peak {} of {}, planned {}\n", who, format_bytes(results.peak_memory_bytes),
        format_bytes(job_.plan.limit_bytes), format_bytes(results.planned_memory_bytes));
  if (results.gpu) {
    print("          the GPU: peak {} of {}, planned {}\n", format_bytes(results.gpu->peak_bytes),
          format_bytes(results.gpu->limit_bytes), format_bytes(results.gpu->planned_bytes));
  }
  if (room_keeper_.given_back_bytes() > 0) {
    print("          memory was short on this machine: {} were released for a while\n",
          format_bytes(room_keeper_.given_back_bytes()));
  }
}

void Trainer::print_files(const Results& results) const {
  const auto file = [&](const char* topic, const char* name, const char* what) {
    print("{:<9} {}  {}\n", topic, (job_.save_dir / name).string(), what);
  };
  const bool has_best = results.best_epoch > 0;
  if (has_best) file("saved", kBestCheckpoint, "the best epoch, for plimsoll predict");
  file(has_best ? "" : "saved", kLastCheckpoint, "the last state, for --resume");
  file("", kResultsFile, "all figures");
  if (log_) print("{:<9} {}  {}\n", "", job_.save_dir.string(), "logs: " + log_->names());
}

void Trainer::print_stages(const Results& results) const {
  if (results.batches_per_second <= 0) return;
  const StageMilliseconds& stages = results.stages;
  if (stages.sample) {
    print(
        "stages    a batch takes {} {:.2f} ms of sampling and {:.2f} ms of gathering,\n"
        "          the training thread {:.2f} ms forward, {:.2f} backward, {:.2f} step, {:.2f} "
        "waiting\n",
        counted(place_.arrangement.workers, "worker"), *stages.sample, *stages.gather,
        *stages.forward, *stages.backward, *stages.step, stages.waiting);
  } else {
    print("stages    a batch takes the GPU {:.2f} ms, of this {:.2f} waiting for the disk\n",
          1000 / results.batches_per_second, stages.waiting);
  }
  if (results.planned_epoch_seconds <= 0) return;
  print("          the batches of an epoch took {:.2f} s, {:.2f} s were planned\n",
        static_cast<double>(job_.plan.batches) / results.batches_per_second,
        results.planned_epoch_seconds);
}

void Trainer::print_reads(const batch::ReadCounts& reads) {
  if (reads.reads == 0) return;
  const auto percent = [&](uint64_t rows) {
    // Rows that were read more than once, in rounds or after a line went down, count once.
    return 100.0 * static_cast<double>(std::min(rows, reads.rows)) /
           static_cast<double>(std::max<uint64_t>(1, reads.rows));
  };
  const std::string rows =
      reads.rows == 0
          ? fmt::format("{} rows", format_count(reads.rows_on_disk))
          : fmt::format("{:.1f} % of the rows were not in memory", percent(reads.rows_on_disk));
  print("disk      {} reads of {} on average by {}; {}\n", format_count(reads.reads),
        format_bytes(reads.bytes / reads.reads), reads.method, rows);
  if (reads.windows > 0) {
    print("          {} windows of {:.0f} batches on average\n", format_count(reads.windows),
          static_cast<double>(reads.window_batches) / static_cast<double>(reads.windows));
  }
}

void Trainer::print_memory_parts(const Results& results) const {
  std::string parts;
  uint64_t lent = 0;
  for (const memory::Ledger::Usage& usage : job_.ledger.usage()) {
    if (usage.tag == kRuntimeTag) continue;  // measured below
    parts += fmt::format("{} {}, ", usage.tag, format_bytes(usage.bytes));
    lent += usage.bytes;
  }
  const uint64_t resident = memory::process_usage().resident_bytes;
  const uint64_t rest = resident > lent ? resident - lent : 0;
  print("parts     {}{}runtime {}\n", group_ == nullptr ? "" : "rank 0: ", parts,
        format_bytes(rest));
  const auto peak = static_cast<double>(results.peak_memory_bytes);
  const auto planned = static_cast<double>(results.planned_memory_bytes);
  print("          planned {:.1f} % {} than the peak; unattributed {}\n",
        100 * std::abs(planned / peak - 1), planned < peak ? "less" : "more",
        format_bytes(results.unattributed_bytes));
}

}  // namespace plimsoll::train
