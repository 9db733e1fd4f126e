#include "ranks/launcher.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "base/child.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/host.h"
#include "base/interrupt.h"
#include "ranks/rank_place.h"

namespace plimsoll::ranks {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLookEveryMs = 100;
constexpr int kExecFailed = 127;

// A port of this host that nobody uses. Another program could take it before rank 0 does; rank 0
// then reports that.
uint16_t free_port() {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), generic, length) != 0 ||
      ::getsockname(socket.get(), generic, &length) != 0) {
    fail(ErrorKind::io, "cannot find a free port for the ranks on 127.0.0.1: {}",
         std::strerror(errno));
  }
  return ntohs(address.sin_port);
}

// The environment of a rank, like torchrun's.
Environment environment_of(unsigned rank, unsigned ranks, uint16_t port) {
  return environment_with({fmt::format("RANK={}", rank), fmt::format("WORLD_SIZE={}", ranks),
                           fmt::format("LOCAL_RANK={}", rank),
                           fmt::format("LOCAL_WORLD_SIZE={}", ranks), "MASTER_ADDR=127.0.0.1",
                           fmt::format("MASTER_PORT={}", port),
                           fmt::format("{}={}", kLauncherVariable, ::getpid())});
}

struct Child {
  unsigned rank = 0;
  pid_t pid = 0;
  Fd handle;  // a pidfd: readable when the process has ended
};

// Everything that allocates happens before the fork, because other threads may hold locks.
Child start(const LaunchRequest& request, unsigned rank, uint16_t port) {
  const Environment variables = environment_of(rank, request.ranks, port);
  const std::vector<char*> arguments = null_ended(request.command);
  const std::vector<char*> environment = null_ended(variables);
  const pid_t pid = ::fork();
  if (pid == 0) {
    // A group of its own: a terminal's Ctrl-C goes to the launcher alone, which passes it on once.
    ::setpgid(0, 0);
    ::execve(kThisProgram, arguments.data(), environment.data());
    ::_exit(kExecFailed);
  }
  if (pid < 0) fail(ErrorKind::io, "cannot start rank {}: {}", rank, std::strerror(errno));
  return {rank, pid, Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
}

// The processes that live. Kills and reaps those that are left when it ends, so that an exception
// leaves none behind.
class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    signal_all(SIGKILL);
    for (const Child& child : living_) {
      while (::waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  void add(Child child) { living_.push_back(std::move(child)); }
  bool empty() const { return living_.empty(); }
  void signal_all(int signal_number) const {
    // Ours and not reaped yet, so the number is still theirs.
    for (const Child& child : living_) ::kill(child.pid, signal_number);
  }
  std::vector<unsigned> ranks() const {
    std::vector<unsigned> all;
    for (const Child& child : living_) all.push_back(child.rank);
    return all;
  }

  // Waits a moment, and takes out those that have ended.
  std::vector<RankEnd> wait() {
    std::vector<pollfd> handles;
    for (const Child& child : living_) handles.push_back({child.handle.get(), POLLIN, 0});
    ::poll(handles.data(), handles.size(), kLookEveryMs);
    std::vector<RankEnd> ended;
    std::erase_if(living_, [&](const Child& child) {
      int status = 0;
      if (::waitpid(child.pid, &status, WNOHANG) != child.pid) return false;
      ended.push_back({child.rank, status});
      return true;
    });
    return ended;
  }

 private:
  std::vector<Child> living_;
};

bool contains(const std::vector<unsigned>& ranks, unsigned rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

void follow_launcher(const std::string& launcher) {
  const auto pid = static_cast<pid_t>(leading_number(launcher).value_or(0));
  Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  // Another process may have its number by now.
  if (!handle || ::getppid() != pid) {
    ::kill(::getpid(), SIGTERM);
    return;
  }
  std::thread([handle = std::move(handle)] {
    pollfd ended = {handle.get(), POLLIN, 0};
    while (::poll(&ended, 1, -1) < 0) {
    }
    ::kill(::getpid(), SIGTERM);
  }).detach();
}

LaunchEnd launch(const LaunchRequest& request) {
  Children children;
  const uint16_t port = free_port();
  for (unsigned rank = 0; rank < request.ranks; ++rank) children.add(start(request, rank, port));
  LaunchEnd end;
  int passed_on = 0;
  std::optional<Clock::time_point> failed;  // when the first rank did
  while (!children.empty()) {
    for (const RankEnd& one : children.wait()) {
      end.ends.push_back(one);
      if (!one.good() && !failed) failed = Clock::now();
    }
    const int signal_number = pending_interrupt();
    if (signal_number != passed_on) {
      children.signal_all(signal_number);
      passed_on = signal_number;
    }
    if (!failed) continue;
    const auto since = Clock::now() - *failed;
    if (since > request.patience && end.asked.empty()) {
      end.asked = children.ranks();
      if (passed_on == 0) children.signal_all(SIGTERM);
    }
    if (since > request.grace && end.killed.empty()) {
      end.killed = children.ranks();
      children.signal_all(SIGKILL);
    }
  }
  return end;
}

int exit_code_of(const LaunchEnd& end, int lost_code) {
  int code = 0;
  for (const RankEnd& one : end.ends) {
    int own = WIFEXITED(one.status) ? WEXITSTATUS(one.status) : lost_code;
    if (own == 128 + SIGTERM && contains(end.asked, one.rank)) own = lost_code;
    if (own != 0 && own != lost_code) return own;
    if (own != 0) code = own;
  }
  return code;
}

std::string describe_killed(const LaunchEnd& end) {
  std::string text;
  const auto add = [&](const std::string& line) { text += (text.empty() ? "" : "\n") + line; };
  for (const RankEnd& one : end.ends) {
    if (contains(end.killed, one.rank)) {
      add(fmt::format("rank {} did not end in time after another had failed, and was killed",
                      one.rank));
    } else if (WIFSIGNALED(one.status)) {
      const int signal_number = WTERMSIG(one.status);
      add(fmt::format("rank {} was ended by signal {} ({}){}", one.rank, signal_number,
                      strsignal(signal_number),
                      signal_number == SIGKILL
                          ? ", by somebody or because memory ran out; the kernel's log says which"
                          : ""));
    }
  }
  return text;
}

}  // namespace plimsoll::ranks
