#include "plan/arrange.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "batch/packed_rows.h"
#include "plan/evaluation.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kWindowNodes = 8192;  // of the batches that a worker makes at once
constexpr uint64_t kMostWindow = 16;
constexpr uint64_t kLeastAreaBytes = 256 * kKiB;
// Pages that a GPU copies from come in powers of two, see train/feeder.cc: half as much again as is
// asked for, on average over sizes.
constexpr double kPinnedRounding = 1.5;

Arrangement arrange(const Question& question, const Arrangement& wanted) {
  Arrangement arrangement = wanted;
  if (question.workers > 0) arrangement.workers = question.workers;
  if (question.window > 0) arrangement.window = question.window;
  const unsigned threads = question.threads;
  arrangement.computing =
      question.gpu ? 1 : std::max(1U, threads - std::min(arrangement.workers, threads / 2));
  arrangement.held = question.gpu ? 1 + kCopiedAhead : 1;
  arrangement.area_bytes = std::max(wanted.area_bytes, kLeastAreaBytes);
  return arrangement;
}

// The threads that a CPU's computing leaves over; all but one of them for a GPU.
unsigned most_making(const Question& question) {
  const unsigned threads = question.threads;
  return std::max(1U, question.gpu ? threads - 1 : (threads + 1) / 2);
}

std::vector<Arrangement> resident_arrangements(const Question& question) {
  std::vector<Arrangement> all = {arrange(question, {.workers = 1, .ahead = 0, .area_bytes = 0})};
  for (unsigned workers = 1; workers <= most_making(question); ++workers) {
    all.push_back(arrange(question, {.workers = workers, .ahead = 1, .area_bytes = 0}));
  }
  return all;
}

std::vector<Arrangement> reading_arrangements(const Question& question) {
  const uint64_t nodes = std::max<uint64_t>(1, question.probe.largest.nodes);
  // Rows of a batch, if none of them were resident; a smaller area only means more rounds.
  const uint64_t rows_bytes = std::max<uint64_t>(512, question.store.row_bytes) * nodes;
  std::vector<Arrangement> all = {
      arrange(question, {.workers = 1, .ahead = 0, .area_bytes = 0}),
      arrange(question, {.workers = 1, .ahead = 1, .area_bytes = rows_bytes / 8})};
  // Threads that wait for the disk use no core: more of them than cores keep it busy.
  const unsigned most_workers = question.threads + 2;
  for (unsigned workers = 2; workers <= most_workers; ++workers) {
    all.push_back(
        arrange(question, {.workers = workers, .ahead = 1, .area_bytes = rows_bytes / 4}));
  }
  const uint64_t most_window = std::clamp<uint64_t>(kWindowNodes / nodes, 1, kMostWindow);
  for (uint64_t window = 2; window <= most_window; window *= 2) {
    for (const unsigned workers : {1U, 2U, std::max(1U, question.threads), most_workers}) {
      all.push_back(arrange(question, {.workers = workers,
                                       .window = static_cast<unsigned>(window),
                                       .ahead = 2,
                                       .area_bytes = rows_bytes * window / 2}));
    }
  }
  return all;
}

// A pass goes over one of the splits.
uint64_t nodes_of_largest_pass(const Question& question) {
  return std::max(question.store.train_nodes, question.store.evaluated_nodes);
}

uint64_t batches_of_largest_pass(const Question& question) {
  const uint64_t size = std::max<uint64_t>(1, question.recipe.batch_size);
  return (nodes_of_largest_pass(question) + size - 1) / size;
}

// How large the last batch of a pass is, as a part of the others. It reaches more nodes than its
// share of seeds, for the hot ones are met soon.
double last_batch_part(const Question& question) {
  const uint64_t size = std::max<uint64_t>(1, question.recipe.batch_size);
  const uint64_t seeds = nodes_of_largest_pass(question) % size;
  const uint64_t whole = std::min(size, nodes_of_largest_pass(question));
  return seeds == 0 ? 1 : std::sqrt(static_cast<double>(seeds) / static_cast<double>(whole));
}

}  // namespace

std::vector<Arrangement> arrangements(const Question& question, bool reads_disk) {
  return reads_disk ? reading_arrangements(question) : resident_arrangements(question);
}

Taken taken_bytes(const Question& question, const Arrangement& arrangement, bool reads_disk) {
  const Work work = question.work();
  const uint64_t batches = std::max<uint64_t>(1, batches_of_largest_pass(question));
  const auto in_flight = static_cast<unsigned>(std::min<uint64_t>(arrangement.slots(), batches));
  const auto workers = static_cast<unsigned>(std::min<uint64_t>(arrangement.workers, batches));
  const auto slot =
      static_cast<double>(slot_bytes(work, reads_disk)) * (question.gpu ? kPinnedRounding : 1);
  const double full = in_flight < batches ? in_flight : in_flight - 1 + last_batch_part(question);
  Taken taken{
      .batches_bytes = static_cast<uint64_t>(full * slot),
      .workers_bytes = workers * worker_bytes(work, arrangement, reads_disk),
      .model_bytes = model_bytes(work) + activation_bytes(work),
      .runtime_bytes = question.runtime_bytes + work.store.split_bytes() + node_sets_bytes(work),
      .in_flight = in_flight};
  if (reads_disk && question.recipe.reuse_epochs > 1) {
    taken.workers_bytes += batch::PackedRows::table_bytes(question.batches());
  }
  // It evaluates in the room of the batches, which are not there meanwhile.
  const uint64_t instead = taken.batches_bytes + taken.workers_bytes + activation_bytes(work);
  const uint64_t least = least_full_evaluation_bytes(work, arrangement, reads_disk);
  if (least > instead) taken.workers_bytes += least - instead;
  return taken;
}

}  // namespace plimsoll::plan
