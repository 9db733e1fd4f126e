// Completion scripts for shells. They are made from the program's own commands and options, so they
// are always up to date.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace plimsoll::cli {

enum class Shell { bash, zsh, fish };

// `root` is the whole program; hidden commands and options stay hidden.
std::string completion_script(const CLI::App& root, Shell shell);

}  // namespace plimsoll::cli
