// Words for commands that a message offers to the user.
#pragma once

#include <string>

namespace plimsoll {

// The word as a POSIX shell reads it back: in quotes if it needs them.
std::string shell_word(const std::string& word);

}  // namespace plimsoll
