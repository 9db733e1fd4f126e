// The folder of a run: making it, locking it for one driver, and finding it again.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "experiment/batch.h"
#include "experiment/catalog.h"
#include "experiment/journal.h"
#include "experiment/queue.h"
#include "experiment/record.h"
#include "gate/policy.h"

namespace plimsoll::experiment {

// A file lock that the only driver of a run holds while it lives. The kernel releases it when the
// process ends, for any reason.
class RunLock {
 public:
  // Nothing if another process holds it; with `wait`, waits for it.
  static std::optional<RunLock> take(const std::filesystem::path& file, bool wait);
  // Whether a process holds it now.
  static bool is_taken(const std::filesystem::path& file);

 private:
  explicit RunLock(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

// A driver needs exclusive use of its run folder and its GPUs: two batches on one GPU would disturb
// each other's measurements. A second driver is refused, or waits.
struct Waiting {
  bool wait = false;
  std::function<void(const std::string&)> say;  // prints that it waits, and for what
};

// Throws Error{exists} if another process holds the lock and `waiting.wait` is false. `what` names
// the locked thing in messages.
RunLock take_lock(const std::filesystem::path& file, const std::string& what,
                  const Waiting& waiting);

struct GpuClaim {
  gate::GpuSelection gpus;  // `unchanged` if there are none
  std::vector<RunLock> locks;
  std::vector<std::string> uuids;  // in the order in which they are handed out
};

// The GPUs of each experiment that runs at once. A single one gets all, unless
// it is told how many; several get different ones. Throws Error{usage} if there are not enough.
std::vector<gate::GpuSelection> hand_out_gpus(const GpuClaim& claim, const AtOnceOptions& jobs);

// Locks the selected GPUs; `unchanged` means all, if there are any.
GpuClaim claim_gpus(const gate::GpuSelection& gpus, const Waiting& waiting);

// Makes results/run_20261115_081500 and returns its absolute path. A second run in the same second
// gets a suffix.
std::filesystem::path make_run_folder(const std::filesystem::path& results);

// The newest run in this folder of results.
std::optional<std::filesystem::path> newest_run_in(const std::filesystem::path& results);

// The newest run under ./results, for commands without a RUN. Throws Error{usage} if there is none.
std::filesystem::path newest_run();

// The file that a run's driver locks.
std::filesystem::path lock_file(const std::filesystem::path& run);

// The file that a driver locks for a GPU; the same for all users of this machine.
std::filesystem::path gpu_lock_file(const std::string& uuid);

// The shell command that resumes the run.
std::string resume_command(const std::filesystem::path& run);

// "paused: five failures in a row with the same cause: ...".
std::string describe_pause(const std::string& cause);

// A run as recorded in its journal.
struct KnownRun {
  std::filesystem::path folder;
  std::string settings;  // the text of its BatchTexts
  std::vector<Experiment> queue;
  std::vector<JournalEntry> entries;  // one per experiment in `queue`
  std::vector<JournalAttempt> attempts;
  std::string paused;   // the reason; empty if it is not paused
  bool driven = false;  // a driver runs it now
  size_t jobs = 1;      // that the last driver ran at once
};
KnownRun read_run(const std::filesystem::path& folder);

// Writes into the journal how many experiments its driver runs at once.
void note_jobs(Journal& journal, size_t jobs);

// Prints to stderr which files of the run differ from the journal, as after a power loss. Writes
// them again if the run belongs to this user. Does nothing if a driver runs it.
void look_after_files(const KnownRun& run, const Catalog& catalog);

}  // namespace plimsoll::experiment
