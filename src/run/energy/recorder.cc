#include "energy/recorder.h"

#include <fmt/format.h>
#include <pthread.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <exception>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/host.h"
#include "base/units.h"
#include "gate/policy.h"
#include "io/partial_file.h"
#include "meter/gpu.h"

namespace plimsoll::energy {
namespace {

namespace fs = std::filesystem;

double thread_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Blocks all signals. A thread that is started meanwhile inherits that, so signals reach only the
// threads that handle them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

std::string joules_text(const std::optional<double>& joules) {
  return joules ? fmt::format("{:.2f}", *joules) : "unavailable";
}

}  // namespace

std::string cpu_energy_text(const EnergyReport& report) {
  const CpuFigures& cpu = report.cpu;
  const Figure& total = cpu.total.joules ? cpu.total : cpu.package;
  std::string text = fmt::format(
      "CPU Energy Consumption Summary\n"
      "==============================\n"
      "Package Energy (Joules): {}\n"
      "RAM Energy (Joules): {}\n"
      "Total CPU Energy (Joules): {}\n"
      "\n"
      "Source: {}\n"
      "Coverage: {}\n"
      "Quality: {}\n",
      joules_text(cpu.package.joules), joules_text(cpu.memory.joules),
      joules_text(cpu.total.joules), total.source.empty() ? "none" : total.source,
      format_percent(total.coverage), name(total.quality));
  if (!total.reason.empty()) text += fmt::format("Because: {}\n", total.reason);
  if (!cpu.memory.joules && cpu.memory.reason != total.reason) {
    text += fmt::format("No memory: {}\n", cpu.memory.reason);
  }
  if (cpu.total.net_joules) {
    text += fmt::format("Net of the idle baseline: {:.2f}\n", *cpu.total.net_joules);
  }
  return text;
}

Recorder::~Recorder() {
  if (thread_.joinable()) thread_.request_stop();
}

void Recorder::start(const fs::path& folder, std::function<bool()> begun) {
  folder_ = folder;
  failure_.clear();
  cpu_seconds_ = 0;
  stopped_ = false;
  std::error_code trouble;
  if (!folder.empty()) fs::create_directories(folder, trouble);
  if (trouble) failure_ = fmt::format("cannot make {}: {}", folder.string(), trouble.message());
  meter_ = std::make_unique<Meter>(
      sources_, MeterOptions{.folder = trouble ? fs::path() : folder, .begun = std::move(begun)});
  if (!any(sources_)) return;  // nothing to read
  const SignalsBlocked blocked;
  thread_ = std::jthread([this](const std::stop_token& stopping) { record(stopping); });
}

void Recorder::record(const std::stop_token& stopping) try {
  while (!stopping.stop_requested()) {
    const double due = meter_->tick();
    cpu_seconds_ = thread_cpu_seconds();
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, stopping, std::chrono::duration<double>(due - sources_.now()),
                   [] { return false; });
  }
} catch (const std::exception& failure) {
  failure_ = failure.what();
}

void Recorder::stop() {
  if (stopped_) return;
  stopped_ = true;
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  const double before = thread_cpu_seconds();
  try {
    meter_->stop();
  } catch (const std::exception& failure) {
    failure_ = failure.what();
  }
  cpu_seconds_ += thread_cpu_seconds() - before;
}

EnergyReport Recorder::report(std::optional<double> run_seconds) {
  stop();
  EnergyReport report = meter_->report(run_seconds);
  if (baseline_) subtract(*baseline_, report);
  report.sampling_cpu_seconds = cpu_seconds_;
  const auto add_reason = [&report](const std::string& reason) {
    for (Figure* figure : {&report.cpu.total, &report.all_gpus}) {
      figure->reason += (figure->reason.empty() ? "" : "; ") + reason;
    }
  };
  if (!failure_.empty()) add_reason(failure_);
  if (!folder_.empty()) try {
      // No sync: the journal has the figures, so this file may be lost.
      io::write_whole(folder_ / "cpu_energy.txt", cpu_energy_text(report), io::Sync::no);
    } catch (const Error& error) {
      add_reason(error.what());
    }
  meter_.reset();
  return report;
}

const Baseline& Recorder::measure_baseline(double seconds) {
  baseline_.reset();
  const double at = sources_.epoch();
  start({});
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  baseline_ = baseline_of(report(), at);
  return *baseline_;
}

namespace {

GpuChoice choose(const gate::GpuSelection& gpus) {
  if (gpus.kind == gate::GpuSelection::Kind::none) {
    return {.uuids = {}, .none_because = "--gpu none"};
  }
  const meter::GpuAccess access = meter::open_gpus();
  if (!access.gpus) return {.uuids = {}, .none_because = access.missing_because};
  if (!gpus.wants_gpus()) return {.uuids = {}, .none_because = "no GPU is visible"};
  GpuChoice choice;
  for (const auto& gpu : gate::choose_gpus(gpus, access.gpus->read_counters(),
                                           Host::real().variable("CUDA_VISIBLE_DEVICES"))) {
    choice.uuids.push_back(gpu.uuid);
  }
  return choice;
}

}  // namespace

std::unique_ptr<Recorder> open_recorder(const EnergyUse& use) {
  auto recorder = std::make_unique<Recorder>(open_sources(choose(use.gpus)));
  use.say(describe(recorder->sources()));
  const std::filesystem::path file = use.folder / "idle_baseline.json";
  if (use.idle_baseline_seconds > 0 && !any(recorder->sources())) {
    use.say("--idle-baseline: no energy counter is available; there will be no net figures");
  } else if (use.idle_baseline_seconds > 0) {
    use.say(fmt::format("measuring the power of the idle machine for {}",
                        format_seconds(use.idle_baseline_seconds)));
    save(recorder->measure_baseline(use.idle_baseline_seconds), file);
  } else if (const auto known = load_baseline(file)) {
    recorder->set_baseline(*known);
  }
  if (recorder->baseline()) use.say(describe(*recorder->baseline()));
  return recorder;
}

}  // namespace plimsoll::energy
