// The disk's work for batches, alone or in windows, and the size of windows (plan/timing.h).
#include <algorithm>
#include <cmath>
#include <vector>

#include "batch/window.h"
#include "io/file.h"
#include "plan/footprint.h"
#include "plan/timing.h"

namespace plimsoll::plan {
namespace {

constexpr double kRowsVary = 1.08;  // some windows have more rows than the average one
constexpr auto kSector = static_cast<double>(io::kSectorBytes);

// Items of one size, of which some are wanted, at random.
struct Items {
  double count = 0;
  double wanted = 0;
  double bytes = 0;  // of each
};

// The gaps between wanted items are geometrically distributed. Those that are no longer than the
// price's widest gap are read through.
DiskWork work_for(const Items& items, const io::ReadPrice& price) {
  if (items.wanted <= 0) return {};
  const double density = std::min(1.0, items.wanted / items.count);
  const double empty = 1 - density;
  const double widest = static_cast<double>(price.widest_gap_bytes()) / items.bytes;
  const double alone = std::pow(empty, widest + 1);  // the share of items that begin a request
  const double through =
      empty <= 0 ? 0
                 : empty * (1 - (widest + 1) * std::pow(empty, widest) + widest * alone) / density;
  const double read = alone * std::max(kSector, items.bytes) + (1 - alone) * items.bytes +
                      std::max(0.0, through) * items.bytes;
  return {.requests = items.wanted * alone, .bytes = items.wanted * read};
}

// How many of `count` items are met by `visits` visits at random.
double distinct(double count, double visits) {
  return count <= 0 ? 0 : count * -std::expm1(-visits / count);
}

// The part of a stretch from `first` to `last` that is not before the line.
double part_below(double first, double last, double line) {
  return last <= first ? 0 : std::clamp((last - line) / (last - first), 0.0, 1.0);
}

struct RowWork {
  DiskWork work;
  double rows = 0;
};

// The rows of a window.
RowWork row_work(const Question& question, const Lines& lines, double batches) {
  const StoreShape& store = question.store;
  const double line = static_cast<double>(lines.features_bytes) /
                      static_cast<double>(std::max<uint64_t>(1, store.row_bytes));
  const io::ReadPrice price = read_price(question.machine);
  RowWork all;
  for (size_t i = 0; i < question.probe.visited.size(); ++i) {
    const auto first = static_cast<double>(store.marks[i].node);
    const auto last = static_cast<double>(store.marks[i + 1].node);
    const double part = part_below(first, last, line);
    const double count = (last - first) * part;
    const double wanted = distinct(count, batches * question.probe.visited[i] * part);
    const DiskWork work = work_for({count, wanted, static_cast<double>(store.row_bytes)}, price);
    all.work.requests += work.requests;
    all.work.bytes += work.bytes;
    all.rows += wanted;
  }
  return all;
}

// The sectors of the lists, and of their bounds.
DiskWork list_work(const Question& question, const Lines& lines, double batches) {
  const StoreShape& store = question.store;
  const io::ReadPrice price = read_price(question.machine);
  DiskWork all;
  const auto add = [&](double bytes, double reads) {
    const double count = bytes / kSector;
    const DiskWork work = work_for({count, distinct(count, batches * reads), kSector}, price);
    all.requests += work.requests;
    all.bytes += work.bytes;
  };
  if (question.recipe.model == recipe::ModelKind::mlp) return all;
  const bool all_degrees =
      question.recipe.model == recipe::ModelKind::gcn && question.recipe.norm == recipe::Norm::full;
  const std::vector<double>& bounds =
      all_degrees ? question.probe.visited : question.probe.expanded;
  for (size_t i = 0; i + 1 < store.marks.size(); ++i) {
    const Mark& from = store.marks[i];
    const Mark& to = store.marks[i + 1];
    const auto edges = static_cast<double>(to.edges - from.edges) * sizeof(uint32_t);
    const double lists = part_below(static_cast<double>(from.edges * sizeof(uint32_t)),
                                    static_cast<double>(to.edges * sizeof(uint32_t)),
                                    static_cast<double>(lines.neighbors_bytes));
    if (i < question.probe.list_reads.size()) {
      add(edges * lists, question.probe.list_reads[i] * lists);
    }
    const double offsets = part_below(static_cast<double>(from.node * sizeof(uint64_t)),
                                      static_cast<double>(to.node * sizeof(uint64_t)),
                                      static_cast<double>(lines.offsets_bytes));
    if (i < bounds.size()) {
      add(static_cast<double>(to.node - from.node) * sizeof(uint64_t) * offsets,
          bounds[i] * offsets);
    }
  }
  return all;
}

}  // namespace

io::ReadPrice read_price(const Machine& machine) {
  io::ReadPrice price;
  if (machine.most_reads_per_second > 0) price.request_seconds = 1 / machine.most_reads_per_second;
  if (machine.read_bytes_per_second > 0) price.byte_seconds = 1 / machine.read_bytes_per_second;
  return price;
}

DiskWork window_work(const Question& question, const Arrangement& arrangement, double batches) {
  const RowWork rows = row_work(question, arrangement.lines, batches);
  const DiskWork lists = list_work(question, arrangement.lines, batches);
  return {.requests = (rows.work.requests + lists.requests) / batches,
          .bytes = (rows.work.bytes + lists.bytes) / batches,
          .rows = rows.rows / batches};
}

Arrangement with_windows(const Question& question, const Arrangement& arrangement,
                         const WindowRoom& room) {
  const auto with = [&](uint64_t batches) {
    Arrangement tried = arrangement;
    tried.window = static_cast<unsigned>(batches);
    tried.drawing = static_cast<unsigned>(
        std::min<uint64_t>(std::max(1U, question.threads - (question.gpu ? 1 : 0)), batches));
    const double rows = row_work(question, arrangement.lines, static_cast<double>(batches)).rows;
    tried.window_bytes = static_cast<uint64_t>(kRowsVary * (rows + 2)) * question.store.row_bytes;
    return tried;
  };
  const auto fits = [&](uint64_t batches) {
    return windows_bytes(question.work(), with(batches)) <= room.bytes;
  };
  uint64_t most = std::max<uint64_t>(1, question.batches() / room.least_windows);
  if (question.window > 0) most = question.window;
  if (most < 2 || !fits(2)) return arrangement;
  uint64_t least = 2;
  while (least < most) {
    const uint64_t middle = least + (most - least + 1) / 2;
    if (fits(middle)) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  if (question.window > 0) return with(least);
  // Windows of an epoch are equally large (batch/window_queue.h).
  const uint64_t windows = (question.batches() + least - 1) / least;
  return with((question.batches() + windows - 1) / windows);
}

}  // namespace plimsoll::plan
