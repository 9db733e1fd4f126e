// Work that other processes wait for must not end halfway because of a signal.
#pragma once

namespace plimsoll {

// While one of these lives, throw_if_interrupted() does nothing, on any thread. pending_interrupt()
// still tells: whoever has this must ask it.
class DeferInterrupts {
 public:
  DeferInterrupts();
  DeferInterrupts(const DeferInterrupts&) = delete;
  DeferInterrupts& operator=(const DeferInterrupts&) = delete;
  ~DeferInterrupts();
};

}  // namespace plimsoll
