// Whether the machine must be measured before it is known: that takes seconds, which a command
// should announce.
#pragma once

#include "plan/machine.h"

namespace plimsoll::plan {

// Whether known_machine() would measure now, instead of taking the rates from the cache.
bool must_measure(const Wanted& wanted);

}  // namespace plimsoll::plan
