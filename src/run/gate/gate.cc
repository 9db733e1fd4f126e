#include "gate/gate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/print.h"
#include "base/units.h"
#include "process/orphans.h"
#include "process/own_stream.h"
#include "process/process_ref.h"

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

Admission wait_for_room(const GpuRequest& request, const std::vector<std::string>& uuids,
                        const Surroundings& around) {
  GatePolicy policy(request.free_bytes.value_or(0), request.wait_seconds, around.classify);
  Admission entry;
  const double start = around.now_seconds();
  std::string said;
  double said_at = 0;
  for (;;) {
    entry.gpus = read_chosen(around.gpus, uuids);
    const GateDecision decision = policy.next(entry.gpus, around.now_seconds());
    entry.waited_seconds = around.now_seconds() - start;
    entry.open = decision.move == GateDecision::Move::open;
    entry.reason = decision.reason;
    if (entry.open || decision.move == GateDecision::Move::give_up) return entry;
    for (const GpuHolder& holder : decision.to_end) {
      around.say("ending a process on the GPU left over from an earlier run: " + describe(holder));
      around.end_leftover(holder);
      ++entry.leftovers_ended;
    }
    const bool is_news = said.empty() || around.now_seconds() - said_at >= kSayAgainSeconds;
    if (decision.move == GateDecision::Move::wait && decision.reason != said && is_news) {
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

namespace {

constexpr double kReturnPatienceSeconds = 10;
constexpr std::chrono::milliseconds kLeftoverGrace{2000};

void say(const std::string& text) {
  process::write_patiently(STDERR_FILENO, printable(fmt::format("plimsoll exec: {}\n", text)));
}

Whose classify(const meter::GpuHolder& holder) {
  for (const process::Orphan& orphan : process::find_leftovers().orphans) {
    if (orphan.process.pid == holder.pid && orphan.process.start_ticks == holder.start_ticks) {
      return Whose::leftover;
    }
  }
  return classify_by_user(holder, geteuid());
}

void end_leftover(const meter::GpuHolder& holder) {
  const auto process = process::ProcessRef::open({.boot = process::boot_id(),
                                                  .pid = holder.pid,
                                                  .start_ticks = holder.start_ticks,
                                                  .pid_namespace = plimsoll::pid_namespace()});
  if (!process) return;
  process->signal(SIGTERM);
  if (!process->wait(kLeftoverGrace)) process->signal(SIGKILL);
}

Surroundings surroundings(meter::Gpus& gpus) {
  using Clock = std::chrono::steady_clock;
  return {.gpus = gpus,
          .classify = classify,
          .end_leftover = end_leftover,
          .now_seconds =
              [] { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); },
          .sleep =
              [](double seconds) {
                std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
              },
          .say = say};
}

}  // namespace

meter::Gpus& GpuUse::driver() {
  if (!access_.gpus) access_ = meter::open_gpus();
  return require_gpus(access_);
}

std::optional<std::string> GpuUse::enter() {
  if (!request_.gpus.wants_gpus()) return std::nullopt;
  for (const auto& gpu : choose_gpus(request_.gpus, driver().read(), allowed_)) {
    uuids_.push_back(gpu.uuid);
  }
  const Admission entry = wait_for_room(request_, uuids_, surroundings(driver()));
  access_ = {};
  before_ = entry.gpus;
  return entry.open ? std::nullopt : std::optional(entry.reason);
}

std::vector<std::string> GpuUse::environment() const {
  if (request_.gpus.kind == GpuSelection::Kind::unchanged) return {};
  return {"CUDA_VISIBLE_DEVICES=" + visible_devices(before_)};
}

bool GpuUse::busy() try {
  if (uuids_.empty()) return false;
  const auto gpus = driver().read_counters();
  return std::any_of(gpus.begin(), gpus.end(), [this](const meter::GpuReading& gpu) {
    const bool chosen = std::find(uuids_.begin(), uuids_.end(), gpu.uuid) != uuids_.end();
    return chosen && gpu.utilisation_percent.value_or(0) > 0;
  });
} catch (const Error&) {
  return false;  // the driver failed: the command will notice if it uses the GPU
}

void GpuUse::leave() try {
  if (uuids_.empty()) return;
  const Release release =
      wait_until_released(before_, kReturnPatienceSeconds, surroundings(driver()));
  at_end_ = release.gpus;
  if (!release.back) say(release.reason);
} catch (const Error& error) {  // do not throw: the command has run, and exec must report its end
  say(error.what());
}

std::string first_usable_gpu() {
  try {
    const meter::GpuAccess access = meter::open_gpus();
    if (!access.gpus) return {};
    return choose_gpus({.kind = GpuSelection::Kind::all}, access.gpus->read_counters(),
                       Host::real().variable("CUDA_VISIBLE_DEVICES"))
        .front()
        .name;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace plimsoll::gate
