#include "experiment/run_folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/child.h"
#include "base/error.h"
#include "base/host.h"
#include "base/interrupt.h"
#include "base/run_files.h"
#include "base/units.h"
#include "experiment/catalog.h"
#include "experiment/outputs.h"
#include "gate/policy.h"
#include "meter/gpu.h"

namespace plimsoll::experiment {

std::optional<RunLock> RunLock::take(const std::filesystem::path& file, bool wait) {
  Fd lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  // Another user's lock file in a shared folder: read access is enough to lock it.
  if (!lock) lock = Fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock) fail_errno("open the lock", file.string(), errno);
  fchmod(lock.get(), 0644);  // independent of the umask; fails for another user's file, harmlessly
  while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) fail_errno("lock", file.string(), errno);
    if (!wait) return std::nullopt;
    throw_if_interrupted();
    usleep(100'000);
  }
  return RunLock(std::move(lock));
}

bool RunLock::is_taken(const std::filesystem::path& file) {
  const Fd lock(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!lock || flock(lock.get(), LOCK_SH | LOCK_NB) == 0) return false;
  return errno == EWOULDBLOCK;
}

namespace {

constexpr const char* kJobsFact = "jobs";  // of the last driver

size_t jobs_of(const Journal& journal) {
  const auto noted = leading_number(journal.fact(kJobsFact));
  return noted ? std::max<size_t>(1, *noted)
               : parse_texts(journal.settings()).jobs.at_once.value_or(1);
}

}  // namespace

RunLock take_lock(const std::filesystem::path& file, const std::string& what,
                  const Waiting& waiting) {
  auto taken = RunLock::take(file, false);
  if (!taken && waiting.wait) {
    waiting.say(fmt::format("waiting: another plimsoll run is using {}", what));
    taken = RunLock::take(file, true);
  }
  if (!taken) {
    fail(ErrorKind::exists, "another plimsoll run is using {}; --wait waits for it", what);
  }
  return std::move(*taken);
}

GpuClaim claim_gpus(const gate::GpuSelection& gpus, const Waiting& waiting) {
  using GpuKind = gate::GpuSelection::Kind;
  if (gpus.kind == GpuKind::none) return {.gpus = gpus, .locks = {}, .uuids = {}};
  const bool any = gpus.kind == GpuKind::unchanged;
  const meter::GpuAccess access = meter::open_gpus();
  const auto visible = Host::real().variable("CUDA_VISIBLE_DEVICES");
  const bool hidden = visible && (visible->empty() || *visible == "-1");
  if (any && (!access.gpus || hidden)) return {};
  const auto all = gate::require_gpus(access).read();
  if (any && all.empty()) return {};
  GpuClaim claim{.gpus = gpus, .locks = {}, .uuids = {}};
  if (any) claim.gpus = {.kind = GpuKind::all};
  auto chosen = gate::choose_gpus(claim.gpus, all, visible);
  for (const auto& gpu : chosen) claim.uuids.push_back(gpu.uuid);
  // Always lock in the same order, so that two drivers never wait for each other.
  std::sort(chosen.begin(), chosen.end(),
            [](const auto& one, const auto& other) { return one.uuid < other.uuid; });
  for (const auto& gpu : chosen) {
    claim.locks.push_back(
        take_lock(gpu_lock_file(gpu.uuid), fmt::format("GPU {}", gpu.index), waiting));
  }
  return claim;
}

std::vector<gate::GpuSelection> hand_out_gpus(const GpuClaim& claim, const AtOnceOptions& jobs) {
  const size_t places = jobs.at_once.value_or(1);
  if (claim.uuids.empty() || (places == 1 && !jobs.gpus_per_job)) {
    std::vector<gate::GpuSelection> same(places, claim.gpus);
    return same;
  }
  const size_t each = jobs.gpus_per_job.value_or(1);
  if (places * each > claim.uuids.size()) {
    fail(ErrorKind::usage,
         "{} with {} each need {} GPUs, and there are {}; lower --jobs or --gpus-per-job, or give "
         "--gpu none if they need no GPU",
         counted(places, "job"), counted(each, "GPU"), places * each, claim.uuids.size());
  }
  std::vector<gate::GpuSelection> handed;
  for (size_t i = 0; i < places; ++i) {
    const auto begin = claim.uuids.begin() + static_cast<std::ptrdiff_t>(i * each);
    handed.push_back({.kind = gate::GpuSelection::Kind::listed,
                      .list = fmt::format(
                          "{}", fmt::join(begin, begin + static_cast<std::ptrdiff_t>(each), ","))});
  }
  return handed;
}

namespace fs = std::filesystem;

constexpr size_t kTimedName = std::string_view("run_20261115_081500").size();

fs::path make_run_folder(const fs::path& results) {
  std::error_code error;
  const bool made = fs::create_directories(results, error);
  if (error) fail_errno("make", results.string(), error.value());
  if (made) experiment::give_to_caller(results);
  const std::string name = fmt::format("run_{:%Y%m%d_%H%M%S}", local_time(seconds_since_1970()));
  for (unsigned copy = 1;; ++copy) {
    fs::path folder = fs::absolute(results) / (copy == 1 ? name : fmt::format("{}_{}", name, copy));
    if (fs::create_directory(folder, error)) return folder;
    if (error) fail_errno("make", folder.string(), error.value());
  }
}

std::optional<fs::path> newest_run_in(const fs::path& results) {
  // Order by name, which contains the time. Within one second, "..._10" comes after "..._2".
  const auto order = [](const fs::path& run) {
    const std::string name = run.filename().string();
    return std::tuple(name.substr(0, kTimedName), name.size(), name);
  };
  std::optional<fs::path> newest;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(results, none)) {
    const fs::path& run = entry.path();
    if (!run.filename().string().starts_with("run_") || !fs::exists(run / kJournalFile)) {
      continue;
    }
    if (!newest || order(*newest) < order(run)) newest = run;
  }
  return newest;
}

fs::path newest_run() {
  const fs::path results = "results";
  const auto newest = newest_run_in(results);
  if (!newest) {
    fail(ErrorKind::usage, "there is no run under {}; give the folder of a run",
         fs::absolute(results).string());
  }
  return *newest;
}

fs::path lock_file(const fs::path& run) { return run / "driver.lock"; }

fs::path gpu_lock_file(const std::string& uuid) {
  const fs::path usual = "/run/lock";  // writable for all users on most systems
  const bool works = access(usual.c_str(), W_OK | X_OK) == 0;
  return (works ? usual : fs::path("/tmp")) / fmt::format("plimsoll-{}.lock", uuid);
}

std::string resume_command(const fs::path& run) {
  return "plimsoll run --resume " + shell_word(run.string());
}

std::string describe_pause(const std::string& cause) {
  return "paused: five failures in a row with the same cause: " + cause;
}

void note_jobs(Journal& journal, size_t jobs) {
  journal.set_fact(kJobsFact, fmt::format("{}", jobs));
}

KnownRun read_run(const fs::path& folder) {
  const auto journal = experiment::Journal::open_to_read(folder);
  KnownRun run{.folder = fs::absolute(folder),
               .settings = journal.settings(),
               .queue = {},
               .entries = journal.entries(),
               .attempts = journal.attempts(),
               .paused = journal.paused(),
               .driven = experiment::RunLock::is_taken(lock_file(folder)),
               .jobs = jobs_of(journal)};
  for (const auto& entry : run.entries) run.queue.push_back(experiment::experiment_of(entry.plan));
  return run;
}

void look_after_files(const KnownRun& run, const experiment::Catalog& catalog) {
  const auto wrong_files = [&](const KnownRun& known, experiment::Mend mend) {
    return experiment::wrong_outputs({.folder = known.folder,
                                      .catalog = catalog,
                                      .queue = known.queue,
                                      .entries = known.entries,
                                      .attempts = known.attempts},
                                     mend);
  };
  if (run.driven) return;
  auto wrong = wrong_files(run, experiment::Mend::no);
  if (wrong.empty()) return;
  struct stat about = {};
  const bool ours = stat(run.folder.c_str(), &about) == 0 && about.st_uid == geteuid() &&
                    access(run.folder.c_str(), W_OK) == 0;
  if (ours) {
    const auto lock = experiment::RunLock::take(lock_file(run.folder), false);
    if (!lock) return;  // a driver has started meanwhile
    wrong = wrong_files(read_run(run.folder), experiment::Mend::yes);
  }
  for (const fs::path& file : wrong) {
    fmt::print(stderr, "{} was missing or damaged; {}\n", file.string(),
               ours ? "restored from the journal"
                    : "its owner can restore it: " + resume_command(run.folder));
  }
}

}  // namespace plimsoll::experiment
