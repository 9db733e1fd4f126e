// SIGINT, SIGTERM and SIGHUP: long work asks from time to time whether one has come. No handler
// interrupts it.
#pragma once

#include <exception>

namespace plimsoll {

// Thrown where work notices that it should end; main turns it into exit code 128 + signal.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal_number) : signal_number_(signal_number) {}
  int signal_number() const { return signal_number_; }
  const char* what() const noexcept override { return "interrupted"; }

 private:
  int signal_number_;
};

// Call once, before any thread starts: blocks the signals everywhere and waits for them on a
// thread of its own. A second SIGINT ends the process at once; other signals do not, because batch
// systems send them several times.
void watch_for_interrupts();

// From now on this signal counts as an interrupt, too. Call on the main thread while no other
// threads run except the watchers: the threads that it starts later inherit what it blocks.
void watch_also(int signal_number);

// The signal that asked the work to end; 0 if none has come.
int pending_interrupt();

void throw_if_interrupted();

}  // namespace plimsoll
