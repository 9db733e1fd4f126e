// The help of every command: usage, description, arguments, grouped options, examples.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

namespace plimsoll::cli {

// Call before commands are added: they take the help option and the layout from their parent.
void set_help(CLI::App& app);

// Breaks text between words so that it fits 100 columns; every line but the first is indented, the
// first is taken to begin at that column already.
std::string wrap(const std::string& text, size_t indent);

// What the user writes after the option's name: "SIZE", "{bash,zsh,fish}"; empty for a flag.
std::string value_name(const CLI::Option& option);

}  // namespace plimsoll::cli
