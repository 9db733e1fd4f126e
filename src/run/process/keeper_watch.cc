#include "process/keeper_watch.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "process/proc_stat.h"
#include "process/process_ref.h"

namespace plimsoll::process {
namespace {

// A keeper that is stopped more often than this is killed.
constexpr int kMostStops = 10;
constexpr std::chrono::seconds kStopsWithin{60};
constexpr int kMostSilentLooks = 10;
constexpr std::chrono::milliseconds kShortestLook{900};
constexpr std::chrono::milliseconds kKeeperEnds{100};

}  // namespace

void KeeperWatch::order(KeeperOrder::Kind kind, int number) {
  if (unsent_ && kind == KeeperOrder::Kind::signal_leader) return;  // an order to end is pending
  unsent_ = KeeperOrder{.kind = kind, .number = number};
  send_again();
}

void KeeperWatch::send_again() {
  if (!unsent_) return;
  const ssize_t count = send(fd(), &*unsent_, sizeof *unsent_, MSG_NOSIGNAL | MSG_DONTWAIT);
  const bool no_room = count < 0 && errno == EAGAIN;
  if (!no_room || unsent_->kind == KeeperOrder::Kind::signal_leader) unsent_.reset();
}

bool KeeperWatch::has_ended() const {
  pollfd socket = {.fd = fd(), .events = POLLRDHUP, .revents = 0};
  return poll(&socket, 1, 0) > 0;
}

void KeeperWatch::check(Clock::time_point now, bool needed) {
  continue_if_stopped(now);
  if (needed) {
    ask_for_beat(now);
  } else {
    answered();
  }
}

void KeeperWatch::answered() {
  beat_asked_at_.reset();
  silent_looks_ = 0;
}

void KeeperWatch::continue_if_stopped(Clock::time_point now) {
  const auto stat = read_stat(keeper_.pid);
  if (!stat || stat->state != 'T') return;
  if (stops_ == 0 || now - first_stopped_at_ > kStopsWithin) {
    first_stopped_at_ = now;
    stops_ = 0;
    say_("its keeper process was stopped; continuing it");
  }
  if (++stops_ > kMostStops) {
    give_up(Fault::stopped);
  } else if (const auto keeper = ProcessRef::open(*stat)) {
    keeper->signal(SIGCONT);
  }
}

// Counts looks, not seconds: if we were stopped ourselves, the time that passed says nothing.
void KeeperWatch::ask_for_beat(Clock::time_point now) {
  if (beat_asked_at_ && now - *beat_asked_at_ < kShortestLook) return;
  if (beat_asked_at_ && ++silent_looks_ >= kMostSilentLooks) give_up(Fault::silent);
  beat_asked_at_ = now;
  const KeeperOrder beat{.kind = KeeperOrder::Kind::beat};
  send(fd(), &beat, sizeof beat, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// When it has ended, its socket closes, and plimsoll takes its children over.
void KeeperWatch::give_up(Fault fault) {
  fault_ = fault;
  kill(keeper_.pid, SIGKILL);  // safe: it is our child and not yet reaped, so the pid is its own
}

std::string KeeperWatch::describe_loss() const {
  switch (fault_) {
    case Fault::stopped:
      return "stopped repeatedly";
    case Fault::silent:
      return "not answering";
    case Fault::none:
      break;
  }
  return "killed";
}

void KeeperWatch::end() {
  keeper_.socket = Fd();
  wait_for_end();
}

// A debugger may have held it until now. Then it is killed, and stays a zombie of the debugger.
void KeeperWatch::wait_for_end() {
  for (int looks = 0; keeper_.pid > 0; ++looks) {
    const Fd keeper(static_cast<int>(syscall(SYS_pidfd_open, keeper_.pid, 0)));
    pollfd end = {.fd = keeper.get(), .events = POLLIN, .revents = 0};
    const bool ended = poll(&end, 1, static_cast<int>(kKeeperEnds.count())) > 0;
    int status = 0;
    const pid_t pid = waitpid(keeper_.pid, &status, WUNTRACED | WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0 || (pid > 0 && !WIFSTOPPED(status)) || (pid == 0 && ended)) break;
    if (pid > 0) kill(keeper_.pid, SIGCONT);
    if (looks >= kMostSilentLooks * kCheckInterval / kKeeperEnds) kill(keeper_.pid, SIGKILL);
  }
  keeper_.pid = 0;
}

}  // namespace plimsoll::process
