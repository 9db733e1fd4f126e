#include "process/orphans.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "process/process_ref.h"
#include "process/tree.h"
#include "process/tree_group.h"

namespace plimsoll::process {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kPause{20};
constexpr int kKillRounds = 100;

bool is_ours(pid_t pid) {
  struct stat status = {};
  return stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 && status.st_uid == geteuid();
}

bool is_supervised(const std::string& run) {
  const auto supervisor = supervisor_of(run);
  return supervisor && is_running(*supervisor);
}

// Finds each process once, with the run that it belongs to.
class Search {
 public:
  explicit Search(const fs::path& state) : all_(all_processes()) {
    for (RunRecord& record : read_records(state)) records_.emplace(record.run, std::move(record));
  }

  const std::vector<Orphan>& run() {
    for (const ProcessStat& stat : all_) {
      if (!stat.alive() || !is_ours(stat.pid)) continue;
      const auto tag = environment_value(stat.pid, kRunVariable);
      if (tag && supervisor_of(*tag) && !supervised(*tag)) add_with_descendants(stat, *tag);
    }
    for (const auto& [run, record] : records_) {
      if (supervised(run)) continue;
      for (const fs::path& group : record.groups) add_group(group, run);
    }
    return found_;
  }

  // Those with nobody left: their groups and records can go.
  std::vector<RunRecord> empty_runs() const {
    std::set<std::string> alive;
    for (const Orphan& orphan : found_) alive.insert(orphan.run);
    std::vector<RunRecord> empty;
    for (const auto& [run, record] : records_) {
      if (!alive.contains(run) && !is_supervised(run)) empty.push_back(record);
    }
    return empty;
  }

 private:
  bool supervised(const std::string& run) {
    const auto known = supervised_.find(run);
    if (known != supervised_.end()) return known->second;
    return supervised_[run] = is_supervised(run);
  }

  void add(const ProcessStat& stat, const std::string& run) {
    if (!stat.alive() || stat.pid == getpid() || !known_.insert(stat.pid).second) return;
    const auto record = records_.find(run);
    found_.push_back(
        {.process = stat,
         .command = command_line(stat.pid),
         .run = run,
         .started = start_time_of_day(stat.start_ticks),
         .record = record == records_.end() ? std::nullopt : std::optional(record->second)});
  }

  void add_with_descendants(const ProcessStat& stat, const std::string& run) {
    add(stat, run);
    for (const ProcessStat& below : descendants(all_, stat.pid)) {
      const auto tag = environment_value(below.pid, kRunVariable);
      if (!tag || *tag == run || !supervised(*tag)) add(below, run);
    }
  }

  void add_group(const fs::path& group, const std::string& run) {
    for (const pid_t pid : group_members(group)) {
      const auto stat = read_stat(pid);
      if (stat && in_group(pid, group)) add(*stat, run);
    }
  }

  std::vector<ProcessStat> all_;
  std::map<std::string, RunRecord> records_;
  std::map<std::string, bool> supervised_;
  std::set<pid_t> known_;
  std::vector<Orphan> found_;
};

void signal_orphans(const std::vector<Orphan>& orphans, int number) {
  for (const Orphan& orphan : orphans) {
    if (const auto process = ProcessRef::open(orphan.process)) process->signal(number);
  }
}

void kill_groups_of(const std::vector<Orphan>& orphans) {
  std::set<std::string> done;
  for (const Orphan& orphan : orphans) {
    if (!orphan.record || !done.insert(orphan.run).second) continue;
    const auto level = level_named(orphan.record->level);
    if (level && !orphan.record->groups.empty()) {
      kill_group(*level, orphan.record->groups.front());
    }
  }
}

size_t remove_remains(const fs::path& state) {
  Search search(state);
  search.run();
  size_t removed = 0;
  for (const RunRecord& record : search.empty_runs()) {
    for (const fs::path& group : record.groups) {
      std::error_code ignored;
      if (fs::exists(group, ignored) && remove_group(group)) ++removed;
    }
    remove_record(state, record.run);
  }
  return removed;
}

}  // namespace

std::vector<Orphan> find_orphans(const fs::path& state) { return Search(state).run(); }

Cleared end_orphans(double grace_seconds, const fs::path& state) {
  Cleared cleared;
  auto orphans = find_orphans(state);
  std::set<std::pair<pid_t, uint64_t>> seen;
  const auto remember = [&] {
    for (const Orphan& each : orphans) seen.emplace(each.process.pid, each.process.start_ticks);
  };
  remember();
  signal_orphans(orphans, SIGTERM);
  signal_orphans(orphans, SIGCONT);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(grace_seconds);
  while (!orphans.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kPause);
    orphans = find_orphans(state);
    remember();
  }
  for (int round = 0; round < kKillRounds && !orphans.empty(); ++round) {
    kill_groups_of(orphans);
    signal_orphans(orphans, SIGKILL);
    std::this_thread::sleep_for(kPause);
    orphans = find_orphans(state);
    remember();
  }
  cleared.ended = seen.size() - orphans.size();
  cleared.left = std::move(orphans);
  cleared.groups_removed = remove_remains(state);
  return cleared;
}

}  // namespace plimsoll::process
