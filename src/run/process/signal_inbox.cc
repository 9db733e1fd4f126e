#include "process/signal_inbox.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace plimsoll::process {
namespace {

bool is_ignored(int number) {
  struct sigaction action = {};
  sigaction(number, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

SignalInbox::SignalInbox() {
  sigset_t read_here;
  sigemptyset(&read_here);
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH}) {
    // A blocked signal is queued even if it is ignored, so do not block ignored ones.
    if (!is_ignored(number)) sigaddset(&read_here, number);
  }
  sigset_t blocked = read_here;
  sigaddset(&blocked, SIGCHLD);  // for open_child_signals()
  sigaddset(&blocked, SIGPIPE);  // if our reader closes the stream, the write fails instead
  child_signal_was_ignored_ = is_ignored(SIGCHLD);
  std::signal(SIGCHLD, SIG_DFL);  // if it were ignored, the kernel would reap our children itself
  pthread_sigmask(SIG_BLOCK, &blocked, &mask_before_);
  fd_ = Fd(signalfd(-1, &read_here, SFD_CLOEXEC | SFD_NONBLOCK));
}

SignalInbox::~SignalInbox() { pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr); }

std::optional<ArrivedSignal> SignalInbox::next() {
  signalfd_siginfo info = {};
  if (read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return {};
  return ArrivedSignal{.number = static_cast<int>(info.ssi_signo),
                       .from_terminal = info.ssi_code == SI_KERNEL};
}

sigset_t block_ending_signals() {
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  return before;
}

Fd open_child_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void read_child_signals(const Fd& signals) {
  signalfd_siginfo ignored = {};
  while (read(signals.get(), &ignored, sizeof ignored) > 0) {
  }
}

}  // namespace plimsoll::process
