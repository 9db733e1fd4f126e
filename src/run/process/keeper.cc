#include "process/keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/host.h"
#include "process/launch.h"
#include "process/tree_watch.h"

namespace plimsoll::process {
namespace {

constexpr const char* kLeastLikelyVictim = "-900";  // -1000 would exempt it completely

struct Pipe {
  Fd read_end;
  Fd write_end;
};

Pipe make_pipe() {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    fail(ErrorKind::refused, "cannot make a pipe: {}", std::strerror(errno));
  }
  return {.read_end = Fd(ends[0]), .write_end = Fd(ends[1])};
}

// The keeper needs another name: then `pkill plimsoll` and `pkill -f "plimsoll exec"` end only
// plimsoll, and the keeper ends the tree. /proc shows the command line from the process's own
// memory, so it is overwritten there.
void rename_process(const std::string& run) {
  prctl(PR_SET_NAME, kKeeperName);
  const auto stat = read_text("/proc/self/stat").value_or("");
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  std::string skipped;
  for (int field = 3; field < 48; ++field) fields >> skipped;
  uintptr_t begin = 0;
  uintptr_t end = 0;
  if (!(fields >> begin >> end) || begin == 0 || end <= begin) return;
  const std::string title = fmt::format("{} {}", kKeeperName, run);
  auto* const words = reinterpret_cast<char*>(begin);  // NOLINT(performance-no-int-to-ptr)
  std::fill(words, words + (end - begin), '\0');
  std::copy_n(title.begin(), std::min<size_t>(title.size(), end - begin - 1), words);
}

// The command's process already has its own copies of our streams.
void let_go_of_streams() {
  const Fd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    dup2(nothing.get(), stream);
  }
}

void make_groups(const KeeperSetup& setup) {
  const GroupPlan& groups = setup.groups;
  if (!groups.tree_folder.empty()) make_group(groups.tree_folder);
  const bool own_memory_group =
      !groups.memory_folder.empty() && groups.memory_folder != groups.tree_folder;
  if (own_memory_group) make_group(groups.memory_folder);
  setup.limit_memory();
}

// Moves the process only if needed: the kernel then waits for all CPUs, tens of milliseconds on a
// busy machine.
void join_groups(const GroupPlan& groups, pid_t first, bool born_inside) {
  if (!groups.tree_folder.empty() && !born_inside) add_to_group(groups.tree_folder, first);
  if (!groups.memory_folder.empty() && groups.memory_folder != groups.tree_folder) {
    add_to_group(groups.memory_folder, first);
  }
}

// Forks a child that starts inside the cgroup v2 group, so it need not be moved. Returns -1 if the
// kernel (before 5.7) or a sandbox refuses.
pid_t fork_into(const std::filesystem::path& folder) {
  const Fd group(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!group) return -1;
  clone_args args = {};
  args.flags = CLONE_INTO_CGROUP;
  args.exit_signal = SIGCHLD;
  args.cgroup = static_cast<uint64_t>(group.get());
  return static_cast<pid_t>(syscall(SYS_clone3, &args, sizeof args));
}

void remove_groups(const GroupPlan& groups) {
  remove_group(groups.tree_folder);
  remove_group(groups.memory_folder);
}

void send_report(int socket_fd, const KeeperReport& report) {
  send(socket_fd, &report, sizeof report, MSG_NOSIGNAL);
}

void send_refusal(int socket_fd, const char* why) {
  KeeperReport report{.kind = KeeperReport::Kind::refused};
  std::strncpy(report.text.data(), why, report.text.size() - 1);
  send_report(socket_fd, report);
}

// The command's process, or the init of its namespace. It waits for a byte from `go`.
struct FirstProcess {
  pid_t pid = 0;
  bool is_init = false;
  bool born_inside = false;  // started inside its group
  Fd go;                     // one byte lets it begin
  Fd exec_failure;           // delivers the errno of a failed exec
  Fd init_reports;           // delivers the command's wait status from an init
};

FirstProcess fork_first_process(const KeeperSetup& setup, int socket_fd) {
  Pipe go = make_pipe();
  Pipe failure = make_pipe();
  Pipe init = make_pipe();
  const bool in_namespace = setup.groups.level == Level::pid_namespace;
  if (in_namespace) enter_pid_namespace();
  const bool has_group = setup.groups.level == Level::cgroup2;
  pid_t pid = has_group ? fork_into(setup.groups.tree_folder) : -1;
  const bool born_inside = pid >= 0;
  if (!born_inside) pid = fork();
  if (pid < 0) fail(ErrorKind::refused, "cannot make a process: {}", std::strerror(errno));
  if (pid == 0) {
    go.write_end = Fd();
    failure.read_end = Fd();
    init.read_end = Fd();
    close(socket_fd);  // else an init keeps it open, and plimsoll does not see the keeper end
    if (in_namespace) {
      run_namespace_init(setup.launch, {.go_fd = go.read_end.get(),
                                        .failure_fd = failure.write_end.get(),
                                        .report_fd = init.write_end.get()});
    }
    become_command(setup.launch, go.read_end.get(), failure.write_end.get());
  }
  return {.pid = pid,
          .is_init = in_namespace,
          .born_inside = born_inside,
          .go = std::move(go.write_end),
          .exec_failure = std::move(failure.read_end),
          .init_reports = in_namespace ? std::move(init.read_end) : Fd()};
}

void keep(const KeeperSetup& setup, int socket_fd) {
  setup.write_down();
  make_groups(setup);
  // Fork before setsid(): the command's process must stay in plimsoll's session.
  FirstProcess first = fork_first_process(setup, socket_fd);
  setsid();
  let_go_of_streams();
  rename_process(setup.run);
  write_kernel_file("/proc/self/oom_score_adj", kLeastLikelyVictim);
  join_groups(setup.groups, first.pid, first.born_inside);
  [[maybe_unused]] const ssize_t count = write(first.go.get(), "g", 1);
  first.go = Fd();
  TreeWatch watch(
      {.tree = {.level = setup.groups.level,
                .group = setup.groups.tree_folder,
                .root = getpid(),
                .init = first.is_init ? first.pid : 0},
       .leader = first.is_init ? 0 : first.pid,
       .grace_seconds = setup.grace_seconds,
       .orders_fd = socket_fd,
       .exec_failure_fd = first.exec_failure.get(),
       .init_reports_fd = first.init_reports.get(),
       .report = [socket_fd](const KeeperReport& report) { send_report(socket_fd, report); },
       .drain = setup.drain,
       .drain_fd = setup.drain_fd});
  watch.run();
}

[[noreturn]] void run_keeper(const KeeperSetup& setup, int socket_fd) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  try {
    keep(setup, socket_fd);
  } catch (const std::exception& error) {
    // The command's process, if it exists, sees its `go` pipe close without a byte, and exits.
    send_refusal(socket_fd, error.what());
  }
  wait_for_hang_up(socket_fd);
  remove_groups(setup.groups);
  setup.strike_out();
  _exit(0);
}

}  // namespace

void wait_for_hang_up(int socket_fd) {
  KeeperOrder ignored;
  ssize_t count = 0;
  do {
    count = recv(socket_fd, &ignored, sizeof ignored, 0);
  } while (count > 0 || (count < 0 && errno == EINTR));  // at end of file, errno is not set
}

Keeper start_keeper(const KeeperSetup& setup) {
  std::array<int, 2> ends = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail(ErrorKind::refused, "cannot make a socket: {}", std::strerror(errno));
  }
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) fail(ErrorKind::refused, "cannot make a process: {}", std::strerror(errno));
  if (pid == 0) {
    ours = Fd();  // otherwise the keeper would never see plimsoll's end close
    run_keeper(setup, theirs.get());
  }
  return {.pid = pid, .socket = std::move(ours)};
}

}  // namespace plimsoll::process
