// The folder of a run: made, claimed by one driver, found again.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiment/catalog.h"
#include "experiment/journal.h"
#include "experiment/queue.h"
#include "experiment/record.h"

namespace plimsoll::experiment {

// What a driver of a batch has for itself: its run folder, and its GPUs, for two batches on one GPU
// would spoil each other's figures. A second driver is refused, or waits.

struct Waiting {
  bool wait = false;
  std::function<void(const std::string&)> say;  // that it waits, and for what
};

// Throws Error{exists} where somebody else has it and nobody wants to wait. `what` names it.
experiment::RunLock take_lock(const std::filesystem::path& file, const std::string& what,
                              const Waiting& waiting);

struct GpuClaim {
  std::string gpus;  // for exec's --gpu; empty where there are none
  std::vector<experiment::RunLock> locks;
};

// Of the GPUs that `gpus` names, as exec's --gpu; empty: all that there are.
GpuClaim claim_gpus(const std::string& gpus, const Waiting& waiting);

// The folder of a run: made for a new one, or found again.

// results/run_20261115_081500, absolute; the second one of a second gets another name.
std::filesystem::path make_run_folder(const std::filesystem::path& results);

// The newest under ./results; Error{usage} where there is none. For commands without a RUN.
std::filesystem::path newest_run();

// The file that a run's driver locks.
std::filesystem::path lock_file(const std::filesystem::path& run);

// The file that a driver locks for a GPU: one for all users of this machine.
std::filesystem::path gpu_lock_file(const std::string& uuid);

// The words that go on with it, for a shell.
std::string resume_command(const std::filesystem::path& run);

// "paused: five failures in a row with one cause: ...".
std::string describe_pause(const std::string& cause);

// A run as its journal tells it.
struct KnownRun {
  std::filesystem::path folder;
  std::string settings;  // the text of its experiment::BatchTexts
  std::vector<experiment::Experiment> queue;
  std::vector<experiment::JournalEntry> entries;  // as many
  std::vector<experiment::JournalAttempt> attempts;
  std::string paused;   // why; empty where it is not
  bool driven = false;  // somebody drives it now
};
KnownRun read_run(const std::filesystem::path& folder);

// Says on stderr which files of the run are not what the journal says, as after a loss of power,
// and makes them again where the run is ours and nobody drives it.
void look_after_files(const KnownRun& run, const experiment::Catalog& catalog);

}  // namespace plimsoll::experiment
