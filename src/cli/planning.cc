#include "cli/planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/units.h"
#include "plan/describe.h"
#include "plan/machine_cache.h"
#include "plan/probe.h"
#include "plan/shape.h"

namespace plimsoll::cli {
namespace {

constexpr uint64_t kProbeReads = 40'000;         // about a quarter of a second
constexpr uint64_t kPlanningBytes = 256 * kMiB;  // the most that planning itself may hold
constexpr double kReserveShare = 0.1;

}  // namespace

memory::Limit training_limit(const RunningOptions& options) {
  const memory::Limit detected = memory::detect_limit();
  if (options.memory_bytes) return memory::choose_limit(options.memory_bytes, detected);
  memory::Limit limit = detected;
  limit.bytes = static_cast<uint64_t>(static_cast<double>(detected.bytes) * (1 - kReserveShare));
  return limit;
}

plan::Question ask_plan(const graph::Store& store, const recipe::Recipe& recipe,
                        const RunningOptions& options, uint64_t limit_bytes) {
  memory::Ledger ledger(std::min(kPlanningBytes, limit_bytes));
  plan::Question question{
      .store = plan::read_shape(store, ledger),
      .recipe = recipe,
      .probe = plan::probe(store, recipe, kProbeReads, ledger),
      .limit_bytes = limit_bytes,
      .runtime_bytes = options.run.device == train::DeviceKind::cuda ? train::kGpuRuntimeBytes
                                                                     : train::kRuntimeBytes,
      .threads = options.run.threads,
      .workers = options.run.workers,
      .machine = plan::known_machine(store.features_file(), options.run.threads, ledger)};
  return question;
}

plan::Plan plan_or_fail(const plan::Question& question) {
  plan::Plan plan = plan::make_plan(question);
  if (!plan.fits) fail(ErrorKind::memory, "{}", plan::describe_shortage(plan, question));
  return plan;
}

void say_plan(const RunningOptions& options, const plan::Plan& plan) {
  if (options.run.quiet) return;
  fmt::print("{}", plan::describe(plan));
  std::fflush(stdout);
}

}  // namespace plimsoll::cli
