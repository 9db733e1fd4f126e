#include "process/orphans.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/host.h"
#include "base/print.h"
#include "base/units.h"
#include "process/keeper.h"
#include "process/process_ref.h"
#include "process/tree.h"
#include "process/tree_group.h"

namespace plimsoll::process {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kPause{20};
constexpr int kKillRounds = 100;
constexpr size_t kCommandColumns = 60;

bool is_ours(pid_t pid) {
  struct stat status = {};
  return stat(fmt::format("{}/{}", proc_folder(), pid).c_str(), &status) == 0 &&
         status.st_uid == geteuid();
}

// The processes in a run's control group. A process belongs to the run if plimsoll made the group,
// or if the process carries the run's name in its environment; otherwise it is a stranger.
struct GroupLook {
  std::vector<ProcessStat> members;
  std::optional<ProcessStat> stranger;
};

GroupLook look_into_group(const fs::path& group, const std::string& run) {
  GroupLook look;
  const bool marked = is_made_by_us(group);
  for (const pid_t pid : group_members(group)) {
    // The kernel lists pid 0 for a process in a namespace that we cannot see.
    if (pid == 0 && !marked) look.stranger = ProcessStat{};
    const auto stat = read_stat(pid);
    if (!stat || !stat->alive() || !in_group(pid, group)) continue;
    if (marked || environment_value(pid, kRunVariable) == run) {
      look.members.push_back(*stat);
    } else {
      look.stranger = stat;
    }
  }
  return look;
}

// Searches all processes; lists each leftover once, with the run that it belongs to.
class Search {
 public:
  explicit Search(const fs::path& state) : state_(state), all_(all_processes()) {
    if (proc_folder().empty()) {
      fail(ErrorKind::refused,
           "/proc shows another PID namespace, so processes cannot be identified; mount the right "
           "one: mount -t proc proc /proc");
    }
    Records records = read_records(state);
    found_.unusable = std::move(records.unusable);
    for (RunRecord& record : records.usable) records_.emplace(record.run, std::move(record));
  }

  const Leftovers& run() {
    for (const ProcessStat& stat : all_) {
      if (!stat.alive() || !is_ours(stat.pid)) continue;
      const auto tag = environment_value(stat.pid, kRunVariable);
      if (!tag || !supervisor_of(*tag)) continue;
      if (presence(*tag) == Presence::ended) add_with_descendants(stat, *tag);
      if (presence(*tag) == Presence::elsewhere) ++elsewhere_[*tag];
    }
    for (const auto& [run, record] : records_) {
      if (presence(run) == Presence::elsewhere) elsewhere_.try_emplace(run, 0);
      if (presence(run) != Presence::ended) continue;
      add_keeper(record);
      for (const fs::path& group : record.groups) add_group(group, run);
    }
    for (const auto& [run, processes] : elsewhere_) {
      found_.elsewhere.push_back({run, record_of(run), processes});
    }
    return found_;
  }

  // Runs without any process left: their groups and records can be removed.
  std::vector<RunRecord> empty_runs() {
    std::set<std::string> alive = holding_strangers_;
    for (const Orphan& orphan : found_.orphans) alive.insert(orphan.run);
    std::vector<RunRecord> empty;
    for (const auto& [run, record] : records_) {
      if (!alive.contains(run) && presence(run) == Presence::ended) empty.push_back(record);
    }
    return empty;
  }

 private:
  Presence presence(const std::string& run) {
    const auto known = presences_.find(run);
    if (known != presences_.end()) return known->second;
    const auto supervisor = supervisor_of(run);
    return presences_[run] = supervisor ? presence_of(*supervisor) : Presence::ended;
  }

  std::optional<RunRecord> record_of(const std::string& run) const {
    const auto record = records_.find(run);
    return record == records_.end() ? std::nullopt : std::optional(record->second);
  }

  void add(const ProcessStat& stat, const std::string& run) {
    if (!stat.alive() || stat.pid == getpid() || !known_.insert(stat.pid).second) return;
    found_.orphans.push_back({.process = stat,
                              .command = command_line(stat.pid),
                              .run = run,
                              .started = start_time_of_day(stat.start_ticks),
                              .record = record_of(run)});
  }

  // Whether a process carries the name of another run that must not be ended.
  bool belongs_to_another(pid_t pid, const std::string& run) {
    const auto tag = environment_value(pid, kRunVariable);
    return tag && *tag != run && supervisor_of(*tag) && presence(*tag) != Presence::ended;
  }

  void add_with_descendants(const ProcessStat& stat, const std::string& run) {
    add(stat, run);
    for (const ProcessStat& below : descendants(all_, stat.pid)) {
      if (!belongs_to_another(below.pid, run)) add(below, run);
    }
  }

  // A keeper that still runs was stopped, or is ending its tree and will exit soon.
  void add_keeper(const RunRecord& record) {
    if (presence_of(record.keeper) != Presence::running) return;
    const auto stat = read_stat(record.keeper.pid);
    if (stat && stat->start_ticks == record.keeper.start_ticks && stat->name == kKeeperName) {
      add(*stat, record.run);
    }
  }

  void add_group(const fs::path& group, const std::string& run) {
    const GroupLook look = look_into_group(group, run);
    for (const ProcessStat& stat : look.members) {
      if (!belongs_to_another(stat.pid, run)) add(stat, run);
    }
    if (!look.stranger || !holding_strangers_.insert(run).second) return;
    found_.unusable.push_back(
        {record_file(state_, run),
         fmt::format(
             "names the control group {}, which contains process {} ({}) of another program",
             group.string(), look.stranger->pid, command_line(look.stranger->pid))});
  }

  fs::path state_;
  std::vector<ProcessStat> all_;
  std::map<std::string, RunRecord> records_;
  std::map<std::string, Presence> presences_;
  std::map<std::string, size_t> elsewhere_;
  std::set<std::string> holding_strangers_;
  std::set<pid_t> known_;
  Leftovers found_;
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
    if (!orphan.record->level || orphan.record->groups.empty()) continue;
    const fs::path& group = orphan.record->groups.front();
    if (!look_into_group(group, orphan.run).stranger) {
      kill_group(*orphan.record->level, group);
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

Leftovers find_leftovers(const fs::path& state) { return Search(state).run(); }

Cleared end_orphans(double grace_seconds, const fs::path& state) {
  Cleared cleared;
  Leftovers left = find_leftovers(state);
  std::set<std::pair<pid_t, uint64_t>> seen;
  const auto remember = [&] {
    for (const Orphan& each : left.orphans) {
      seen.emplace(each.process.pid, each.process.start_ticks);
    }
  };
  remember();
  signal_orphans(left.orphans, SIGTERM);
  signal_orphans(left.orphans, SIGCONT);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(grace_seconds);
  while (!left.orphans.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kPause);
    left = find_leftovers(state);
    remember();
  }
  for (int round = 0; round < kKillRounds && !left.orphans.empty(); ++round) {
    kill_groups_of(left.orphans);
    signal_orphans(left.orphans, SIGKILL);
    std::this_thread::sleep_for(kPause);
    left = find_leftovers(state);
    remember();
  }
  cleared.ended = seen.size() - left.orphans.size();
  cleared.left = std::move(left);
  cleared.groups_removed = remove_remains(state);
  return cleared;
}

double age_seconds(const Orphan& orphan) {
  return std::max(seconds_since_1970() - orphan.started, 0.0);
}

bool is_stopped(const Orphan& orphan) {
  return orphan.process.state == 'T' || orphan.process.state == 't';
}

namespace {

std::string shortened(const std::string& command) {
  return command.size() <= kCommandColumns ? command
                                           : command.substr(0, kCommandColumns - 3) + "...";
}

std::string gpu_column(const HeldGpuMemory& gpus, pid_t pid) {
  const auto found = gpus.find(pid);
  if (found == gpus.end()) return "-";
  return found->second ? format_bytes(*found->second) : "open";
}

}  // namespace

std::string describe(const std::vector<Orphan>& orphans, const HeldGpuMemory& gpus) {
  constexpr const char* kRow = "{:>8}  {:>13}  {:>10}  {:>10}  {:<{}}  {}\n";
  size_t run_columns = 0;
  for (const Orphan& orphan : orphans) run_columns = std::max(run_columns, orphan.run.size());
  std::string text = fmt::format(kRow, "PID", "SINCE", "RAM", "GPU", "RUN", run_columns, "COMMAND");
  for (const Orphan& orphan : orphans) {
    text += fmt::format(
        kRow, orphan.process.pid, format_seconds(age_seconds(orphan)),
        format_bytes(orphan.process.resident_bytes), gpu_column(gpus, orphan.process.pid),
        printable_line(orphan.run), run_columns,
        (is_stopped(orphan) ? "(stopped) " : "") + shortened(printable_line(orphan.command)));
  }
  return text;
}

nlohmann::ordered_json to_json(const std::vector<Orphan>& orphans, const HeldGpuMemory& gpus) {
  using Json = nlohmann::ordered_json;
  Json array = Json::array();
  for (const Orphan& orphan : orphans) {
    const auto held = gpus.find(orphan.process.pid);
    const bool known = held != gpus.end() && held->second;
    array.push_back({{"pid", orphan.process.pid},
                     {"age_seconds", age_seconds(orphan)},
                     {"resident_bytes", orphan.process.resident_bytes},
                     {"gpu_bytes", known ? Json(*held->second) : Json()},
                     {"stopped", is_stopped(orphan)},
                     {"command", orphan.command},
                     {"run", orphan.run},
                     {"run_command", orphan.record ? Json(orphan.record->command) : Json()},
                     {"log", orphan.record ? Json(orphan.record->log) : Json()}});
  }
  return array;
}

std::string command_of(const RunElsewhere& run) {
  return run.record ? shortened(fmt::format("{}", fmt::join(run.record->command, " "))) : "";
}

nlohmann::ordered_json left_alone_json(const Leftovers& left) {
  using Json = nlohmann::ordered_json;
  Json json = {{"elsewhere", Json::array()}, {"unusable_records", Json::array()}};
  for (const RunElsewhere& run : left.elsewhere) {
    json["elsewhere"].push_back(
        {{"run", run.run}, {"processes_seen", run.processes}, {"command", command_of(run)}});
  }
  for (const UnusableRecord& record : left.unusable) {
    json["unusable_records"].push_back({{"file", record.file.string()}, {"why", record.why}});
  }
  return json;
}

}  // namespace plimsoll::process
