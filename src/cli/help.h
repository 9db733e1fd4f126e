// What the program tells about its own command line: the help of every command, completion scripts
// for shells, and the message for words that it does not understand.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "base/nearest.h"

namespace plimsoll::cli {

// The help of every command: usage, description, arguments, grouped options, examples. Call before
// commands are added: they take the help option and the layout from their parent.
void set_help(CLI::App& app);

// The option's names as they are shown, "-q", "--quiet". The first long name is ours; the others
// are those of other programs, understood beside ours but not shown.
std::vector<std::string> shown_names(const CLI::Option& option);

// What the user writes after the option's name: "SIZE", "{bash,zsh,fish}"; empty for a flag.
std::string value_name(const CLI::Option& option);

// Completion scripts are made from the program's own commands and options, so they are always up to
// date.
enum class Shell { bash, zsh, fish };

// `root` is the whole program; hidden commands and options stay hidden.
std::string completion_script(const CLI::App& root, Shell shell);

// The command that was given, as far as it was recognised: "plimsoll import ogb".
std::string given_command(const CLI::App& root);

// "unknown option --memroy; did you mean --memory?"
std::string explain_parse_error(const CLI::App& root, const CLI::ParseError& error);

}  // namespace plimsoll::cli
