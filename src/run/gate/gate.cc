#include "gate/gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll::gate {
namespace {

using meter::GpuHolder;
using meter::GpuReading;

constexpr double kPollSeconds = 0.25;
constexpr double kSayAgainSeconds = 60;  // between messages about changed holders
// CUDA contexts of other processes come and go. Memory that a training leaves behind is larger.
constexpr uint64_t kToleranceBytes = 64 * kMiB;

// In the order of `uuids`, which is the order in which the command will see the GPUs.
std::vector<GpuReading> read_chosen(meter::Gpus& gpus, const std::vector<std::string>& uuids) {
  const std::vector<GpuReading> all = gpus.read();
  std::vector<GpuReading> chosen;
  chosen.reserve(uuids.size());
  for (const std::string& uuid : uuids) {
    const auto gpu = std::ranges::find(all, uuid, &GpuReading::uuid);
    if (gpu == all.end()) {
      fail(ErrorKind::io, "GPU {} has disappeared; check whether nvidia-smi lists it", uuid);
    }
    chosen.push_back(*gpu);
  }
  return chosen;
}

bool held_before(const GpuHolder& holder, const GpuReading& before) {
  return std::ranges::any_of(before.holders, [&](const GpuHolder& other) {
    return other.pid == holder.pid && other.start_ticks == holder.start_ticks;
  });
}

// How much more memory is used in `now` than in `before`; 0 if processes that came since, other
// than leftovers, explain the difference.
uint64_t missing_bytes(const GpuReading& before, const GpuReading& now,
                       const ClassifyHolder& classify) {
  uint64_t expected = before.used_bytes + kToleranceBytes;
  for (const GpuHolder& holder : now.holders) {
    const bool newcomer = !held_before(holder, before) && classify(holder) != Whose::leftover;
    if (newcomer) expected += holder.bytes.value_or(0);
  }
  return now.used_bytes > expected ? now.used_bytes - before.used_bytes : 0;
}

std::string describe_missing(const std::vector<GpuReading>& before,
                             const std::vector<GpuReading>& now, const ClassifyHolder& classify) {
  std::string text;
  for (const GpuReading& gpu : now) {
    const auto earlier = std::ranges::find(before, gpu.uuid, &GpuReading::uuid);
    if (earlier == before.end()) continue;
    const uint64_t missing = missing_bytes(*earlier, gpu, classify);
    if (missing == 0) continue;
    const std::string holders = describe_holders(gpu);
    text += fmt::format("{}GPU {} holds {} more than before the start: {}",
                        text.empty() ? "" : " | ", gpu.index, format_bytes(missing),
                        holders.empty() ? "no process is listed" : holders);
  }
  return text;
}

}  // namespace

Admission wait_for_room(const Options& options, const std::vector<std::string>& uuids,
                        const Surroundings& around) {
  Policy policy(options.free_bytes.value_or(0), options.wait_seconds, around.classify);
  Admission entry;
  const double start = around.now_seconds();
  std::string said;
  double said_at = 0;
  for (;;) {
    entry.gpus = read_chosen(around.gpus, uuids);
    const Decision decision = policy.next(entry.gpus, around.now_seconds());
    entry.waited_seconds = around.now_seconds() - start;
    entry.open = decision.move == Decision::Move::open;
    entry.reason = decision.reason;
    if (entry.open || decision.move == Decision::Move::give_up) return entry;
    for (const GpuHolder& holder : decision.to_end) {
      around.say("ending a process on the GPU left over from an earlier run: " + describe(holder));
      around.end_leftover(holder);
      ++entry.leftovers_ended;
    }
    const bool is_news = said.empty() || around.now_seconds() - said_at >= kSayAgainSeconds;
    if (decision.move == Decision::Move::wait && decision.reason != said && is_news) {
      said = decision.reason;
      said_at = around.now_seconds();
      around.say("waiting for the GPU: " + said);
    }
    around.sleep(kPollSeconds);
  }
}

Release wait_until_released(const std::vector<GpuReading>& before, double patience_seconds,
                            const Surroundings& around) {
  std::vector<std::string> uuids;
  uuids.reserve(before.size());
  for (const GpuReading& gpu : before) uuids.push_back(gpu.uuid);
  const double start = around.now_seconds();
  for (;;) {
    Release release{.back = true, .gpus = read_chosen(around.gpus, uuids)};
    release.reason = describe_missing(before, release.gpus, around.classify);
    release.back = release.reason.empty();
    release.waited_seconds = around.now_seconds() - start;
    if (release.back || release.waited_seconds >= patience_seconds) return release;
    around.sleep(kPollSeconds);
  }
}

}  // namespace plimsoll::gate
