// Measures a batch's runs, one after the other, on a thread of its own that lives while a run does.
// That thread reads, sleeps and writes its files; it takes no lock that a fork in its middle could
// leave behind but those of malloc and stdio, which the C library hands to the child.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "energy/baseline.h"
#include "energy/meter.h"
#include "energy/report.h"
#include "energy/sources.h"

namespace plimsoll::energy {

// Used by one thread, in the order start, stop, report.
class Recorder {
 public:
  explicit Recorder(Sources sources) : sources_(std::move(sources)) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  const Sources& sources() const { return sources_; }

  // Makes the folder and writes the series into it; without one, writes none. The run counts from
  // the moment at which `begun` says that it has.
  void start(const std::filesystem::path& folder, std::function<bool()> begun = {});
  // At the end of the run: the last reading.
  void stop();
  // When all processes of the run have been waited for; see Meter. Writes cpu_energy.txt. What
  // cannot be written is in the figures' reasons: a batch does not fail for it.
  EnergyReport report(std::optional<double> run_seconds = {});

  // Waits for `seconds`, in which nothing of ours may run. The net figures of later runs are less
  // what it finds.
  const Baseline& measure_baseline(double seconds);
  void set_baseline(const Baseline& baseline) { baseline_ = baseline; }
  const std::optional<Baseline>& baseline() const { return baseline_; }

 private:
  void record(const std::stop_token& stopping);

  Sources sources_;
  std::optional<Baseline> baseline_;
  std::filesystem::path folder_;
  std::unique_ptr<Meter> meter_;
  std::string failure_;
  double cpu_seconds_ = 0;
  bool stopped_ = true;
  std::mutex mutex_;  // for the waiting; what the thread writes is read after its end
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses all of the above
};

// The summary of CPU energy as a file for people and their scripts.
std::string cpu_energy_text(const EnergyReport& report);

}  // namespace plimsoll::energy
