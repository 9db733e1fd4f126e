#include "gate/gpu_use.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/print.h"
#include "process/orphans.h"
#include "process/own_stream.h"
#include "process/process_ref.h"

namespace plimsoll::gate {
namespace {

constexpr double kReturnPatienceSeconds = 10;
constexpr std::chrono::milliseconds kLeftoverGrace{2000};

void say(const std::string& text) {
  process::write_patiently(STDERR_FILENO, printable(fmt::format("plimsoll exec: {}\n", text)));
}

gate::Whose classify(const meter::GpuHolder& holder) {
  for (const process::Orphan& orphan : process::find_leftovers().orphans) {
    if (orphan.process.pid == holder.pid && orphan.process.start_ticks == holder.start_ticks) {
      return gate::Whose::leftover;
    }
  }
  return gate::classify_by_user(holder, geteuid());
}

void end_leftover(const meter::GpuHolder& holder) {
  const auto process = process::ProcessRef::open({.boot = process::boot_id(),
                                                  .pid = holder.pid,
                                                  .start_ticks = holder.start_ticks,
                                                  .pid_namespace = process::pid_namespace()});
  if (!process) return;
  process->signal(SIGTERM);
  if (!process->wait(kLeftoverGrace)) process->signal(SIGKILL);
}

gate::Surroundings surroundings(meter::Gpus& gpus) {
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
  return gate::require_gpus(access_);
}

std::optional<std::string> GpuUse::enter() {
  if (!options_.wants_gpus()) return std::nullopt;
  for (const auto& gpu : gate::choose_gpus(options_.gpus, driver().read(), allowed_)) {
    uuids_.push_back(gpu.uuid);
  }
  const gate::Admission entry = gate::wait_for_room(options_, uuids_, surroundings(driver()));
  access_ = {};
  before_ = entry.gpus;
  return entry.open ? std::nullopt : std::optional(entry.reason);
}

std::vector<std::string> GpuUse::environment() const {
  if (options_.gpus.empty()) return {};
  return {"CUDA_VISIBLE_DEVICES=" + gate::visible_devices(before_)};
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
  const gate::Release release =
      gate::wait_until_released(before_, kReturnPatienceSeconds, surroundings(driver()));
  at_end_ = release.gpus;
  if (!release.back) say(release.reason);
} catch (const Error& error) {  // do not throw: the command has run, and exec must report its end
  say(error.what());
}

std::string first_usable_gpu() {
  try {
    const meter::GpuAccess access = meter::open_gpus();
    if (!access.gpus) return {};
    return choose_gpus("all", access.gpus->read_counters(),
                       Host::real().variable("CUDA_VISIBLE_DEVICES"))
        .front()
        .name;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace plimsoll::gate
