#include "base/interrupt.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace plimsoll {
namespace {
std::atomic<int> g_signal = 0;
}  // namespace

void watch_for_interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);  // ignored under nohup
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([set] {
    for (;;) {
      int signal_number = 0;
      if (sigwait(&set, &signal_number) != 0) continue;
      if (g_signal.exchange(signal_number) != 0) std::_Exit(128 + signal_number);
    }
  }).detach();
}

void throw_if_interrupted() {
  if (const int signal_number = g_signal.load(std::memory_order_relaxed)) {
    throw Interrupted(signal_number);
  }
}

}  // namespace plimsoll
