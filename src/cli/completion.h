// Completion scripts for the shells, made from the program's own tree of commands and options: they
// cannot fall behind it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace plimsoll::cli {

enum class Shell { bash, zsh, fish };

// `root` is the whole program; hidden commands and options stay hidden.
std::string completion_script(const CLI::App& root, Shell shell);

}  // namespace plimsoll::cli
