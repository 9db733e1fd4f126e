// Marks beyond ASCII, such as ± and the blocks of a bar, for locales that cannot show them.
#pragma once

#include <string>
#include <string_view>

#include "base/host.h"

namespace plimsoll {

// Whether the locale has Unicode: what LC_ALL, LC_CTYPE or LANG names, in this order. A locale that
// is not set counts as one that has it: containers set none, and their terminals show it.
bool shows_unicode(const Host& host = Host::real());

// Our own marks in ASCII: ± as +-, a full block as #. Other characters, as in names, stay.
std::string with_ascii_marks(std::string_view text);

// The text as this process' locale can show it.
std::string for_locale(std::string text);

}  // namespace plimsoll
