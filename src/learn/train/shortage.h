// Whether an exception says that memory is short, the device's or the ledger's: what can be
// computed in smaller parts instead.
#pragma once

#include <exception>

namespace plimsoll::train {

bool is_shortage(const std::exception_ptr& error);

}  // namespace plimsoll::train
