#include "base/interrupt.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/defer_interrupts.h"

namespace plimsoll {
namespace {
std::atomic<int> g_signal = 0;
std::atomic<int> g_deferred = 0;

// Waits for `set` on a new thread. That thread takes no other signal: one that ends the process, or
// one that watch_also() blocks later, must find its way to the main thread.
void watch(const sigset_t& set) {
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread([set] {
    for (;;) {
      int signal_number = 0;
      if (sigwait(&set, &signal_number) != 0) continue;
      const bool again = g_signal.exchange(signal_number) != 0;
      if (again && signal_number == SIGINT) std::_Exit(128 + signal_number);
    }
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void watch_for_interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);  // ignored under nohup
  watch(set);
}

void watch_also(int signal_number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal_number);
  watch(set);
}

int pending_interrupt() { return g_signal.load(std::memory_order_relaxed); }

DeferInterrupts::DeferInterrupts() { ++g_deferred; }
DeferInterrupts::~DeferInterrupts() { --g_deferred; }

void throw_if_interrupted() {
  if (g_deferred.load(std::memory_order_relaxed) > 0) return;
  if (const int signal_number = pending_interrupt()) throw Interrupted(signal_number);
}

}  // namespace plimsoll
