#include "process/tree.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/host.h"
#include "process/process_ref.h"
#include "process/tree_group.h"

namespace plimsoll::process {
namespace {

constexpr std::array<std::string_view, kLevels.size()> kNames = {"cgroup2", "freezer", "pidns",
                                                                 "sweep"};  // in kLevels' order

// Tries it in a child process, since a process cannot leave a new namespace. Returns an errno, or 0
// if it works.
int try_namespaces(int flags) {
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) _exit(unshare(flags) == 0 ? 0 : errno);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

std::string obstacle_to_pid_namespace() {
  if (try_namespaces(CLONE_NEWPID | CLONE_NEWNS) == 0) return {};
  const int error = try_namespaces(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS);
  if (error == 0) return {};
  return fmt::format("the kernel does not allow this user to make namespaces: {}",
                     std::strerror(error));
}

}  // namespace

std::string_view name(Level level) { return kNames.at(static_cast<size_t>(level)); }

std::optional<Level> level_named(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return {};
  return kLevels.at(static_cast<size_t>(found - kNames.begin()));
}

std::string obstacle(Level level, const Host& host) {
  switch (level) {
    case Level::cgroup2:
      return unified_base(host).obstacle;
    case Level::freezer:
      return freezer_base(host).obstacle;
    case Level::pid_namespace:
      return obstacle_to_pid_namespace();
    case Level::sweep:
      return {};
  }
  return {};
}

Level strongest_level(const Host& host) {
  if (obstacle(Level::cgroup2, host).empty()) return Level::cgroup2;
  if (obstacle(Level::freezer, host).empty()) return Level::freezer;
  if (try_namespaces(CLONE_NEWPID | CLONE_NEWNS) == 0) return Level::pid_namespace;
  return Level::sweep;
}

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostThreadsShown = 200;

constexpr int kDeepest = 10'000;

// A list of processes is not atomic: while it was read, a member may have ended and its pid may
// have been reused by a stranger, whose child then seems to be ours. So the ancestors are checked
// again while we hold a pidfd. A process is never older than its parent.
bool is_below_root(const Tree& tree, ProcessStat stat) {
  for (int depth = 0; depth < kDeepest; ++depth) {
    if (tree.others.contains({stat.pid, stat.start_ticks})) return false;
    if (stat.parent == tree.root) return true;
    auto parent = read_stat(stat.parent);
    if (!parent || parent->start_ticks > stat.start_ticks) return false;
    stat = std::move(*parent);
  }
  return false;
}

void signal_each(const Tree& tree, const std::vector<ProcessStat>& processes,
                 std::initializer_list<int> signals) {
  for (const ProcessStat& stat : processes) {
    const auto process = ProcessRef::open(stat);
    if (!process) continue;
    const auto now = read_stat(stat.pid);
    const bool ours = (now && is_below_root(tree, *now)) ||
                      (!tree.group.empty() && in_group(stat.pid, tree.group));
    if (!ours) continue;
    for (const int number : signals) process->signal(number);
  }
}

std::string first_line(const std::optional<std::string>& text) {
  if (!text) return "?";
  return text->substr(0, text->find('\n'));
}

std::string describe_thread(const fs::path& folder) {
  const auto stat = parse_stat(read_text(folder / "stat").value_or(""));
  std::string line =
      fmt::format("    thread {} {}, waits in {}, system call {}", folder.filename().string(),
                  stat ? stat->state : '?', first_line(read_text(folder / "wchan")),
                  first_line(read_text(folder / "syscall")));
  if (const auto stack = read_text(folder / "stack")) {  // readable for root only
    line += "\n      " + *stack;
    while (line.back() == '\n') line.pop_back();
    for (size_t end = line.find("\n[<"); end != std::string::npos; end = line.find("\n[<", end)) {
      line.replace(end, 1, "\n      ");
    }
  }
  return line + "\n";
}

}  // namespace

std::vector<ProcessStat> descendants(const std::vector<ProcessStat>& all, pid_t root,
                                     const ProcessSet& others) {
  std::unordered_map<pid_t, std::vector<const ProcessStat*>> children;
  for (const ProcessStat& stat : all) children[stat.parent].push_back(&stat);
  std::vector<ProcessStat> found;
  std::vector<pid_t> todo = {root};
  while (!todo.empty()) {
    const auto below = children.extract(todo.back());
    todo.pop_back();
    if (below.empty()) continue;
    for (const ProcessStat* child : below.mapped()) {
      if (child->pid == root || others.contains({child->pid, child->start_ticks})) continue;
      found.push_back(*child);
      todo.push_back(child->pid);
    }
  }
  return found;
}

std::vector<ProcessStat> members(const Tree& tree) {
  std::vector<ProcessStat> found = descendants(all_processes(), tree.root, tree.others);
  std::unordered_set<pid_t> known;
  for (const ProcessStat& stat : found) known.insert(stat.pid);
  if (!tree.group.empty()) {
    for (const pid_t pid : group_members(tree.group)) {
      if (known.contains(pid)) continue;
      if (auto stat = read_stat(pid)) found.push_back(std::move(*stat));
    }
  }
  std::erase_if(found, [&tree](const ProcessStat& stat) {
    return !stat.alive() || stat.pid == tree.init || stat.pid == tree.root;
  });
  return found;
}

std::vector<ProcessStat> members_by_group(const Tree& tree, const fs::path& group) {
  if (group.empty()) return members(tree);
  std::vector<ProcessStat> found;
  for (const pid_t pid : group_members(group)) {
    auto stat = read_stat(pid);
    if (stat && stat->alive() && pid != tree.init) found.push_back(std::move(*stat));
  }
  return found;
}

size_t ask_to_end(const Tree& tree, int first) {
  const auto alive = members(tree);
  signal_each(tree, alive, {first, SIGTERM, SIGCONT});
  return alive.size();
}

void kill_members(const Tree& tree) {
  if (!tree.group.empty()) kill_group(tree.level, tree.group);
  if (tree.init != 0) {
    if (const auto stat = read_stat(tree.init); stat && stat->parent == tree.root) {
      signal_each(tree, {*stat}, {SIGKILL});
    }
  }
  signal_each(tree, members(tree), {SIGKILL});
}

std::string describe_stuck(const Tree& tree) {
  std::string text;
  size_t shown = 0;
  for (const ProcessStat& stat : members(tree)) {
    text += fmt::format("  process {} {} {}\n", stat.pid, stat.state, command_line(stat.pid));
    std::error_code ignored;
    for (const auto& thread :
         fs::directory_iterator(fmt::format("{}/{}/task", proc_folder(), stat.pid), ignored)) {
      if (++shown > kMostThreadsShown) return text + "  and more\n";
      text += describe_thread(thread.path());
    }
  }
  return text;
}

}  // namespace plimsoll::process
