#include "plan/layout.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/units.h"
#include "batch/flat.h"
#include "batch/seeds.h"
#include "plan/footprint.h"
#include "plan/timing.h"

namespace plimsoll::plan {
namespace {

constexpr double kNoGain = 0.98;  // a gain of less than 2 % does not count
constexpr uint64_t kLeastAreaBytes = 256 * kKiB;

Arrangement arrange(const Question& question, const Arrangement& wanted) {
  Arrangement arrangement = wanted;
  if (question.workers > 0) arrangement.workers = question.workers;
  const unsigned threads = question.threads;
  arrangement.computing =
      question.gpu ? 1 : std::max(1U, threads - std::min(arrangement.workers, threads / 2));
  arrangement.held = question.gpu ? 1 + kCopiedAhead : 1;
  if (question.loading) arrangement.held = question.loading->held;
  arrangement.area_bytes = std::max(wanted.area_bytes, kLeastAreaBytes);
  arrangement.price = read_price(question.machine);
  return arrangement;
}

// The seconds of an epoch. All threads compute, and share the cores with the workers, if that is
// faster than to leave cores to them.
double choose_computing(const Question& question, Arrangement& arrangement, const Reads& reads) {
  const double seconds = predict_time(question, arrangement, reads);
  if (question.gpu || question.loading) return seconds;
  Arrangement all = arrangement;
  all.computing = question.threads;
  const double seconds_of_all = predict_time(question, all, reads);
  if (seconds_of_all >= kNoGain * seconds) return seconds;
  arrangement = all;
  return seconds_of_all;
}

// The most threads that make batches: half of them if the CPU computes, all but one with a GPU, all
// for another program.
unsigned most_making(const Question& question) {
  const unsigned threads = question.threads;
  if (question.loading) return std::max(1U, threads);
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
  // All rows of a batch, as if none were resident. A smaller area only means more rounds.
  const uint64_t rows_bytes = std::max<uint64_t>(512, question.store.row_bytes) * nodes;
  std::vector<Arrangement> all = {
      arrange(question, {.workers = 1, .ahead = 0, .area_bytes = 0}),
      arrange(question, {.workers = 1, .ahead = 1, .area_bytes = rows_bytes / 8})};
  // Threads that wait for the disk use no core, so more threads than cores keep the disk busy.
  const unsigned most_workers = question.threads + 2;
  for (unsigned workers = 2; workers <= most_workers; ++workers) {
    all.push_back(
        arrange(question, {.workers = workers, .ahead = 1, .area_bytes = rows_bytes / 4}));
  }
  return all;
}

uint64_t batches_of_largest_pass(const Question& question) {
  const uint64_t size = std::max<uint64_t>(1, question.recipe.batch_size);
  return (question.store.largest_pass() + size - 1) / size;
}

// The size of the last batch of a pass relative to the others. It reaches more nodes than its share
// of seeds, because a few seeds already meet the hot nodes.
double last_batch_part(const Question& question) {
  const uint64_t size = std::max<uint64_t>(1, question.recipe.batch_size);
  const uint64_t seeds = question.store.largest_pass() % size;
  const uint64_t whole = std::min(size, question.store.largest_pass());
  return seeds == 0 ? 1 : std::sqrt(static_cast<double>(seeds) / static_cast<double>(whole));
}

// What is done while no batches exist, in the memory that is planned for them: loading the splits,
// reading a checkpoint, an evaluation with all neighbours. The most that one of them needs.
uint64_t least_without_batches(const Question& question, const Arrangement& arrangement,
                               bool reads_disk) {
  if (question.loading) return 0;
  return std::max({batch::splits_loading_bytes(), question.checkpoint_bytes,
                   least_full_evaluation_bytes(question.work(), arrangement, reads_disk)});
}

uint64_t whole_slot_bytes(const Question& question, bool reads_disk) {
  const uint64_t bytes = slot_bytes(question.work(), reads_disk);
  if (!question.loading) return bytes;
  return bytes + batch::FlatBatch::bytes_needed(question.probe.largest);
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
  const auto slot = static_cast<double>(whole_slot_bytes(question, reads_disk) *
                                        (question.gpu ? kMostPinnedRounding : 1));
  const double full = in_flight < batches ? in_flight : in_flight - 1 + last_batch_part(question);
  Taken taken{.batches_bytes = static_cast<uint64_t>(full * slot),
              .workers_bytes = workers * worker_bytes(work, arrangement, reads_disk),
              .model_bytes = question.loading ? 0 : model_bytes(work) + activation_bytes(work),
              .runtime_bytes = question.runtime_bytes + question.epochs_bytes +
                               batch::splits_bytes(work.store.split_nodes()) +
                               node_sets_bytes(work) +
                               (question.loading ? question.loading->tables_bytes : 0),
              .in_flight = in_flight};
  if (reads_disk) taken.windows_bytes = windows_bytes(work, arrangement);
  const uint64_t instead = taken.batches_bytes + taken.workers_bytes + taken.windows_bytes +
                           (question.loading ? 0 : activation_bytes(work));
  const uint64_t least = least_without_batches(question, arrangement, reads_disk);
  if (least > instead) taken.workers_bytes += least - instead;
  // One more array of parameters, to add up the gradients in.
  if (question.ranks > 1) taken.model_bytes += parameter_bytes(work);
  for (uint64_t* const bytes : {&taken.batches_bytes, &taken.workers_bytes, &taken.windows_bytes,
                                &taken.model_bytes, &taken.runtime_bytes}) {
    *bytes *= question.host_ranks;
  }
  return taken;
}

// If files are read from disk, memory is spent step by step on what saves the most time: longer
// lines or more batches in flight. The order does not depend on the limit; the limit only decides
// where it ends. So neither shrinks when the limit grows.
namespace {

constexpr uint64_t kLeastStepBytes = 32 * kMiB;
constexpr uint64_t kStepPart = 8;  // a step is also 1/8 of the lines' current length

// Assumed rates if this machine has not been measured: two ordinary cores and an SSD.
Machine ordinary_machine(const Machine& measured) {
  Machine machine = measured;
  if (machine.reads_per_second <= 0) {
    machine.reads_per_second = machine.most_reads_per_second = 100'000;
    machine.read_seconds = 1e-4;
    machine.read_bytes = 512;
    machine.read_bytes_per_second = 1e9;
  }
  if (!machine.making.known()) machine.making = {1e-4, 5e-8, 1e-7, 1e-7, 2e-8};
  if (!machine.step.known()) {
    machine.step = {.narrow_flops = 2e10,
                    .wide_flops = 8e10,
                    .activations = 5e8,
                    .sums = 2e9,
                    .attention = 3e8,
                    .losses = 1e8,
                    .parameters = 1e9,
                    .copied_bytes = 1e10};
    machine.step.fixed.fill({5e-5, 5e-5});
  }
  return machine;
}

Layout lay_out(const Question& question, const Arrangement& arrangement, bool reads_disk) {
  return {arrangement, taken_bytes(question, arrangement, reads_disk)};
}

std::vector<Layout> layouts_by_size(const Question& question, bool reads_disk) {
  std::vector<Layout> layouts;
  for (const Arrangement& arrangement : arrangements(question, reads_disk)) {
    layouts.push_back(lay_out(question, arrangement, reads_disk));
  }
  std::stable_sort(layouts.begin(), layouts.end(), [](const Layout& a, const Layout& b) {
    return a.taken.all_bytes() < b.taken.all_bytes();
  });
  return layouts;
}

std::optional<Layout> resident_layout(const Question& question, uint64_t usable_bytes) {
  std::optional<Layout> found;
  double fewest = 0;
  for (Layout& layout : layouts_by_size(question, /*reads_disk=*/false)) {
    if (resident_bytes(question, layout) > usable_bytes) break;
    const double seconds = choose_computing(question, layout.arrangement, {});
    if (found && seconds >= kNoGain * fewest) continue;
    found = layout;
    fewest = seconds;
  }
  if (found) found->arrangement.lines = all_resident(question.work());
  return found;
}

class Spending {
 public:
  Spending(const Question& question, uint64_t usable_bytes)
      : question_(question),
        usable_bytes_(usable_bytes),
        lines_(question.work()),
        all_bytes_(line_bytes(all_resident(question.work()))),
        layouts_(layouts_by_size(question, /*reads_disk=*/true)) {}

  Layout spend() {
    while (!is_spent()) {
      if (const auto larger = worth_more_than_lines()) {
        if (bytes(*larger) + line_bytes_ > usable_bytes_) break;
        now_ = *larger;
      } else if (line_bytes_ >= all_bytes_) {
        break;
      } else {
        const uint64_t step = kLeastStepBytes + line_bytes_ / kStepPart;
        line_bytes_ = std::min(line_bytes_ + step, usable_bytes_ - bytes(now_));
      }
    }
    Layout chosen = layouts_[now_];
    choose_computing(question_, chosen.arrangement, reads_with(line_bytes_));
    chosen.arrangement.lines = lines_.within(line_bytes_);
    return chosen;
  }

 private:
  uint64_t bytes(size_t i) const { return layouts_[i].taken.all_bytes(); }
  bool is_spent() const { return bytes(now_) + line_bytes_ >= usable_bytes_; }

  double seconds(size_t i, const Reads& reads) const {
    Arrangement arrangement = layouts_[i].arrangement;
    return choose_computing(question_, arrangement, reads);
  }
  Reads reads_with(uint64_t bytes) const {
    return predict_reads(question_.work(), lines_.within(bytes));
  }

  // The layout that saves the most time per byte, among those that save more time than lines would.
  std::optional<size_t> worth_more_than_lines() const {
    const Reads reads = reads_with(line_bytes_);
    const double before = seconds(now_, reads);
    std::optional<size_t> best;
    double most = 0;
    for (size_t i = now_ + 1; i < layouts_.size(); ++i) {
      const double with_it = seconds(i, reads);
      if (with_it >= kNoGain * before) continue;
      const uint64_t more = bytes(i) - bytes(now_);
      const double with_lines = seconds(now_, reads_with(line_bytes_ + more));
      if (with_it >= kNoGain * with_lines) continue;
      const double saved = (before - with_it) / static_cast<double>(std::max<uint64_t>(1, more));
      if (best && saved <= most) continue;
      best = i;
      most = saved;
    }
    return best;
  }

  const Question& question_;
  const uint64_t usable_bytes_;
  const LineChoice lines_;
  const uint64_t all_bytes_;
  const std::vector<Layout> layouts_;
  size_t now_ = 0;
  uint64_t line_bytes_ = 0;
};

}  // namespace

Layout least_layout(const Question& question, bool reads_disk) {
  return lay_out(question, arrangements(question, reads_disk).front(), reads_disk);
}

uint64_t resident_bytes(const Question& question, const Layout& layout) {
  return layout.taken.all_bytes() + line_bytes(all_resident(question.work()));
}

namespace {

constexpr uint64_t kShares = 24;  // of the memory that lines and windows divide

// `layout` with lines and windows in `room`; window 1 if windows do not fit.
Layout divided(const Question& question, const Layout& layout, uint64_t room,
               const WindowRoom& windows) {
  const LineChoice lines(question.work());
  Layout tried = layout;
  tried.arrangement.lines = lines.within(room - windows.bytes);
  tried.arrangement = with_windows(question, tried.arrangement,
                                   {windows.bytes / question.host_ranks, windows.least_windows});
  if (tried.arrangement.window <= 1) return tried;
  // Equal windows may leave memory to the lines.
  const uint64_t taken = question.host_ranks * windows_bytes(question.work(), tried.arrangement);
  tried.arrangement.lines = lines.within(room - std::min(room, taken));
  return tried;
}

// The fastest division of the memory between lines and windows; empty if windows do not help.
std::optional<Layout> windowed_layout(const Question& question, uint64_t usable_bytes) {
  std::optional<Layout> best;
  double fewest = 0;
  const auto consider = [&](Layout tried) {
    if (tried.arrangement.window <= 1) return;
    const Reads reads = predict_reads(question.work(), tried.arrangement.lines);
    const double seconds = choose_computing(question, tried.arrangement, reads);
    if (best && seconds >= kNoGain * fewest) return;
    tried.taken = taken_bytes(question, tried.arrangement, /*reads_disk=*/true);
    tried.arrangement.first_window = first_window(question, tried.arrangement, reads);
    best = tried;
    fewest = seconds;
  };
  for (unsigned workers = 1; workers <= most_making(question); ++workers) {
    const Layout layout = lay_out(
        question, arrange(question, {.workers = workers, .area_bytes = 0}), /*reads_disk=*/true);
    if (layout.taken.all_bytes() >= usable_bytes) break;
    const uint64_t room = usable_bytes - layout.taken.all_bytes();
    for (uint64_t share = 1; share < kShares; ++share) {
      for (const uint64_t least : {1, 2}) {
        consider(divided(question, layout, room, {room / kShares * share, least}));
      }
    }
    if (question.workers > 0) break;  // they are given
  }
  return best;
}

double predicted(const Question& question, const Layout& layout) {
  return predict_time(question, layout.arrangement,
                      predict_reads(question.work(), layout.arrangement.lines));
}

}  // namespace

Layout choose_layout(const Question& question, uint64_t usable_bytes) {
  Question assumed = question;
  assumed.machine = ordinary_machine(question.machine);
  if (const auto resident = resident_layout(assumed, usable_bytes)) return *resident;
  const Layout without = Spending(assumed, usable_bytes).spend();
  if (question.window == 1) return without;
  const auto with = windowed_layout(assumed, usable_bytes);
  const bool faster = with && predicted(assumed, *with) < kNoGain * predicted(assumed, without);
  return with && (faster || question.window > 1) ? *with : without;
}

}  // namespace plimsoll::plan
