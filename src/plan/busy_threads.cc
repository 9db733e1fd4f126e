#include "plan/busy_threads.h"

#include <algorithm>
#include <array>

#include "base/random.h"
#include "base/units.h"
#include "kernel/kernels.h"
#include "plan/rate.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kTableBytes = 256 * kMiB;  // more than the caches hold
constexpr uint64_t kRowBytes = 256;
constexpr uint32_t kColumns = 128;
constexpr uint32_t kVisits = 1024;

void add_up_rows(const std::stop_token& stopping, const kernel::Rows& rows, uint64_t seed,
                 std::atomic<double>& cpu_seconds) {
  std::vector<uint32_t> nodes(kVisits);
  std::vector<uint32_t> indices(kVisits);
  std::vector<float> out(kColumns);
  const std::array<uint32_t, 2> offsets = {0, kVisits};
  const RandomStream random(seed, 0);
  double before = thread_cpu_seconds();
  for (uint64_t round = 0; !stopping.stop_requested(); ++round) {
    for (uint32_t i = 0; i < kVisits; ++i) {
      nodes[i] = static_cast<uint32_t>(below(random.at(round * kVisits + i), rows.count));
      indices[i] = i;
    }
    kernel::best().aggregate({.rows = rows,
                              .nodes = nodes.data(),
                              .offsets = offsets.data(),
                              .indices = indices.data(),
                              .out = out.data(),
                              .last = 1});
    const double now = thread_cpu_seconds();
    cpu_seconds += now - before;
    before = now;
  }
}

}  // namespace

BusyThreads::BusyThreads(unsigned count, memory::Ledger& ledger)
    : table_(ledger, "calibration",
             count == 0 ? 0 : std::clamp(ledger.available_bytes() / 4, kRowBytes, kTableBytes)) {
  std::ranges::fill(table_.span(), static_cast<unsigned char>(1));
  const kernel::Rows rows = {.data = table_.data(),
                             .row_bytes = kRowBytes,
                             .count = table_.size() / kRowBytes,
                             .columns = kColumns,
                             .half = true};
  for (unsigned i = 0; i < count; ++i) {
    threads_.emplace_back([this, rows, i](const std::stop_token& stopping) {
      add_up_rows(stopping, rows, i, cpu_seconds_);
    });
  }
}

}  // namespace plimsoll::plan
