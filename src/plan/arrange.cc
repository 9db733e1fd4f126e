#include "plan/arrange.h"

#include <algorithm>

#include "base/units.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kWindowNodes = 8192;  // of the batches that a worker makes at once
constexpr uint64_t kMostWindow = 16;
constexpr uint64_t kLeastAreaBytes = 256 * kKiB;

Arrangement arrange(const Question& question, const Arrangement& wanted) {
  Arrangement arrangement = wanted;
  if (question.workers > 0) arrangement.workers = question.workers;
  if (question.window > 0) arrangement.window = question.window;
  const unsigned threads = question.threads;
  arrangement.computing = std::max(1U, threads - std::min(arrangement.workers, threads / 2));
  arrangement.area_bytes = std::max(wanted.area_bytes, kLeastAreaBytes);
  return arrangement;
}

std::vector<Arrangement> resident_arrangements(const Question& question) {
  const unsigned half = std::max(1U, (question.threads + 1) / 2);
  return {arrange(question, {.workers = 1, .ahead = 0, .area_bytes = 0}),
          arrange(question, {.workers = 1, .ahead = 1, .area_bytes = 0}),
          arrange(question, {.workers = half, .ahead = 1, .area_bytes = 0})};
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
  for (unsigned workers = 2; workers < most_workers; ++workers) {
    all.push_back(
        arrange(question, {.workers = workers, .ahead = 1, .area_bytes = rows_bytes / 4}));
  }
  const uint64_t most_window = std::clamp<uint64_t>(kWindowNodes / nodes, 1, kMostWindow);
  for (uint64_t window = 1; window <= most_window; window *= 2) {
    all.push_back(arrange(question, {.workers = most_workers,
                                     .window = static_cast<unsigned>(window),
                                     .ahead = 2,
                                     .area_bytes = rows_bytes * window / 2}));
  }
  return all;
}

}  // namespace

std::vector<Arrangement> arrangements(const Question& question, bool reads_disk) {
  return reads_disk ? reading_arrangements(question) : resident_arrangements(question);
}

Taken taken_bytes(const Question& question, const Arrangement& arrangement, bool reads_disk) {
  const Work work = question.work();
  const unsigned in_flight = arrangement.workers * arrangement.window + arrangement.ahead + 1;
  return {
      .batches_bytes = in_flight * slot_bytes(work, reads_disk),
      .workers_bytes = arrangement.workers * worker_bytes(work, arrangement, reads_disk),
      .model_bytes = model_bytes(work) + activation_bytes(work),
      .runtime_bytes = question.runtime_bytes + work.store.split_bytes() + evaluation_bytes(work),
      .in_flight = in_flight};
}

}  // namespace plimsoll::plan
