// The instructions of a pickle: whatever they are, only Error may come out, and what they make is
// leased.
#include "memory/ledger.h"
#include "only_errors.h"
#include "pickle/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  memory::Ledger ledger(64 * kMiB);
  only_errors([&] { const pickle::Pickle parsed(text_of_input(data, size), ledger); });
  if (ledger.used_bytes() != 0) __builtin_trap();
  return 0;
}
