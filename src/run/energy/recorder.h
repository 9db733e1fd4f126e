// Measures the runs of a batch one after the other, in a thread that lives as long as a run. The
// thread reads, sleeps and writes its files. The main thread may fork meanwhile, so this thread
// must take no locks except those of malloc and stdio, which the C library keeps valid in the
// child.
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
#include "gate/policy.h"

namespace plimsoll::energy {

// For one thread, in the order start, stop, report.
class Recorder {
 public:
  explicit Recorder(Sources sources) : sources_(std::move(sources)) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  const Sources& sources() const { return sources_; }

  // Makes the folder and writes the series into it; an empty path writes none. Measurement begins
  // when `begun` returns true.
  void start(const std::filesystem::path& folder, std::function<bool()> begun = {});
  // Takes the last reading, at the end of the run.
  void stop();
  // Call it when all processes of the run have been waited for; see Meter. Writes cpu_energy.txt. A
  // failed write appears in the figures' reasons; it does not fail the batch.
  EnergyReport report(std::optional<double> run_seconds = {});

  // Measures the idle power for `seconds`; start nothing meanwhile. Later runs use it for their net
  // figures.
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
  std::mutex mutex_;  // only for waiting; other members are read after the thread has ended
  std::condition_variable_any wake_;
  std::jthread thread_;  // must be last: it uses all of the above
};

// The content of cpu_energy.txt: a summary of the CPU energy.
std::string cpu_energy_text(const EnergyReport& report);

// What a batch measures.
struct EnergyUse {
  gate::GpuSelection gpus;           // the GPUs that are measured
  double idle_baseline_seconds = 0;  // measure it now; 0: use the one in the folder, if any
  std::filesystem::path folder;      // of the run
  std::function<void(const std::string&)> say;
};

// Opens the recorder of a batch. Prints what is measured and how. Blocks while the baseline is
// measured.
std::unique_ptr<Recorder> open_recorder(const EnergyUse& use);

}  // namespace plimsoll::energy
