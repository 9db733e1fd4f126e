// The message for a command line that cannot be understood: what is wrong, in one line, and the
// known word that is most similar to an unknown one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/nearest.h"

namespace plimsoll::cli {

// The command that was given, as far as it was recognised: "plimsoll import ogb".
std::string given_command(const CLI::App& root);

// "unknown option --memroy; did you mean --memory?"
std::string explain(const CLI::App& root, const CLI::ParseError& error);

}  // namespace plimsoll::cli
