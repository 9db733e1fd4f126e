// Where something is read, memory is spent byte by byte on what saves more time: longer lines, or
// more batches under way. The order of spending does not depend on the limit, which only says where
// it ends; so neither ever shrinks when the limit grows.
#include "plan/layout.h"

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "plan/lines.h"
#include "plan/timing.h"

namespace plimsoll::plan {
namespace {

constexpr double kAsFast = 0.98;  // a gain of less than two in a hundred is none
constexpr uint64_t kLeastStepBytes = 32 * kMiB;
constexpr uint64_t kStepPart = 8;  // of the lines' length so far

// To choose by where this machine has not been measured: two ordinary cores and an SSD.
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
  for (const Layout& layout : layouts_by_size(question, /*reads_disk=*/false)) {
    if (resident_bytes(question, layout) > usable_bytes) break;
    const double seconds = predict_time(question, layout.arrangement, {});
    if (found && seconds >= kAsFast * fewest) continue;
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
    chosen.arrangement.lines = lines_.within(line_bytes_);
    return chosen;
  }

 private:
  uint64_t bytes(size_t i) const { return layouts_[i].taken.all_bytes(); }
  bool is_spent() const { return bytes(now_) + line_bytes_ >= usable_bytes_; }

  double seconds(size_t i, const Reads& reads) const {
    return predict_time(question_, layouts_[i].arrangement, reads);
  }
  Reads reads_with(uint64_t bytes) const {
    return predict_reads(question_.work(), lines_.within(bytes));
  }

  // The layout that saves the most time a byte, of those that save more than lines would.
  std::optional<size_t> worth_more_than_lines() const {
    const Reads reads = reads_with(line_bytes_);
    const double before = seconds(now_, reads);
    std::optional<size_t> best;
    double most = 0;
    for (size_t i = now_ + 1; i < layouts_.size(); ++i) {
      const double with_it = seconds(i, reads);
      if (with_it >= kAsFast * before) continue;
      const uint64_t more = bytes(i) - bytes(now_);
      const double with_lines = seconds(now_, reads_with(line_bytes_ + more));
      if (with_it >= kAsFast * with_lines) continue;
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

Layout choose_layout(const Question& question, uint64_t usable_bytes) {
  Question assumed = question;
  assumed.machine = ordinary_machine(question.machine);
  if (const auto resident = resident_layout(assumed, usable_bytes)) return *resident;
  return Spending(assumed, usable_bytes).spend();
}

}  // namespace plimsoll::plan
