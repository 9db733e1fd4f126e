// The help of every command: usage, description, arguments, grouped options, examples.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace plimsoll::cli {

// Call before commands are added: they take the help option and the layout from their parent.
void set_help(CLI::App& app);

// The option's names as they are shown, "-q", "--quiet". The first long name is ours; the others
// are those of other programs, understood beside ours but not shown.
std::vector<std::string> shown_names(const CLI::Option& option);

// What the user writes after the option's name: "SIZE", "{bash,zsh,fish}"; empty for a flag.
std::string value_name(const CLI::Option& option);

}  // namespace plimsoll::cli
