// Torch's exceptions as the program's errors, and how to recognise that memory is short.
#pragma once

#include <exception>
#include <optional>

#include "base/error.h"

namespace plimsoll::train {

// Turns an exception into an Error: torch's messages have a backtrace and no advice. A full GPU and
// a system that gives no memory are Error{memory}. Empty for all other exceptions.
std::optional<Error> as_error(const std::exception_ptr& exception);

// Whether the exception means that memory is short: on the device, in the ledger or in the system.
// The batch can then be computed in smaller parts.
bool is_shortage(const std::exception_ptr& exception);

}  // namespace plimsoll::train
