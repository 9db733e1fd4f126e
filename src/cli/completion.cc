#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/help.h"

namespace plimsoll::cli {
namespace {

// The tree as the shells need it, free of CLI11.
struct Argument {
  std::vector<std::string> names;  // "-q", "--quiet"; for a positional its one name
  std::string description;
  std::string value_name;           // empty for a flag
  std::vector<std::string> values;  // the only ones there are, or none
  bool takes_file = false;
  bool repeats = false;
};

struct Command {
  std::string path;  // "plimsoll import ogb"
  std::string name;
  std::string description;
  std::vector<Argument> options;
  std::vector<Argument> positionals;
  std::vector<Command> commands;
};

constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};  // as enum Shell

// The value names of numbers: completing file names there would only mislead.
constexpr std::array<std::string_view, 9> kNumbers = {"INT",   "UINT", "FLOAT", "N",   "SIZE",
                                                      "SHARE", "X",    "LIST",  "TIME"};

bool is_number(std::string_view value_name) {
  return std::find(kNumbers.begin(), kNumbers.end(), value_name) != kNumbers.end();
}

Argument describe(const CLI::Option& option) {
  Argument argument;
  argument.description = option.get_description();
  argument.value_name = value_name(option);
  argument.values = allowed_words(option);
  argument.takes_file =
      !argument.value_name.empty() && argument.values.empty() && !is_number(argument.value_name);
  argument.repeats = option.get_expected_max() > 1;
  argument.names = shown_names(option);
  if (argument.names.empty()) argument.names.push_back(option.get_name(true));
  return argument;
}

Command describe(const CLI::App& app, const std::string& parent_path) {
  Command command;
  command.name = app.get_name();
  command.path = parent_path.empty() ? command.name : parent_path + " " + command.name;
  command.description = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->nonpositional() ? command.options : command.positionals).push_back(describe(*option));
  }
  for (const CLI::App* child : app.get_subcommands({})) {
    if (!child->get_group().empty()) command.commands.push_back(describe(*child, command.path));
  }
  return command;
}

template <typename Visit>
void for_each_command(const Command& command, const Visit& visit) {
  visit(command);
  for (const Command& child : command.commands) for_each_command(child, visit);
}

std::vector<std::string> paths_below(const Command& root) {
  std::vector<std::string> paths;
  for_each_command(root, [&](const Command& command) {
    if (&command != &root) paths.push_back("'" + command.path + "'");
  });
  return paths;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// bash: the words that may follow, by command; file names come from readline where nothing else
// does.

std::string bash_option_values(const Command& command) {
  std::string cases;
  for (const Argument& option : command.options) {
    if (option.value_name.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) {
      patterns.push_back(fmt::format("'{} {}'", command.path, name));
    }
    cases += fmt::format("    {}) words='{}' files={}; options='' ;;\n", fmt::join(patterns, " | "),
                         fmt::join(option.values, " "), option.takes_file ? 1 : 0);
  }
  return cases;
}

std::string bash_command_words(const Command& command) {
  std::vector<std::string> words;
  std::vector<std::string> options;
  bool files = false;
  for (const Command& child : command.commands) words.push_back(child.name);
  for (const Argument& argument : command.positionals) {
    words.insert(words.end(), argument.values.begin(), argument.values.end());
    files = files || argument.takes_file;
  }
  for (const Argument& option : command.options) {
    options.insert(options.end(), option.names.begin(), option.names.end());
  }
  return fmt::format("    '{}') words='{}' options='{}' files={} ;;\n", command.path,
                     fmt::join(words, " "), fmt::join(options, " "), files ? 1 : 0);
}

std::string bash_script(const Command& root) {
  std::string words;
  std::string values;
  for_each_command(root, [&](const Command& command) {
    words += bash_command_words(command);
    values += bash_option_values(command);
  });
  return fmt::format(
      R"(# bash completion for {name}; made by `{name} completion bash`.
_{name}() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD - 1]}}"
  local path={name} words='' options='' files=0 i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in
    {paths}) path="$path ${{COMP_WORDS[i]}}" ;;
    esac
  done
  # bash makes three words of --option=value.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous="${{COMP_WORDS[COMP_CWORD - 2]}}"
  fi
  case "$path" in
{words}  esac
  case "$path $previous" in
{values}  esac
  if [[ $current == -* ]]; then
    words=$options files=0
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if ((!files)); then
    compopt +o default 2>/dev/null
  fi
}}
complete -o default -F _{name} {name}
)",
      fmt::arg("name", root.name), fmt::arg("paths", fmt::join(paths_below(root), " | ")),
      fmt::arg("words", words), fmt::arg("values", values));
}

// zsh: one function a command, each a call of _arguments.

// For single quotes, with a backslash before each of the `special` characters.
std::string zsh_quote(std::string text, std::string_view special) {
  for (const char c : special) text = replace_all(text, {&c, 1}, fmt::format("\\{}", c));
  return replace_all(text, "'", "'\\''");
}

std::string zsh_function(const Command& command) {
  return "_" + replace_all(command.path, " ", "_");
}

// ":SIZE:action", what _arguments does for a value.
std::string zsh_value(const std::string& title, const Argument& argument) {
  const std::string action = !argument.values.empty()
                                 ? fmt::format("({})", fmt::join(argument.values, " "))
                             : argument.takes_file ? "_files"
                                                   : " ";
  return fmt::format(":{}:{}", zsh_quote(title, "\\:"), action);
}

std::string zsh_arguments(const Command& command) {
  std::string lines;
  for (const Argument& option : command.options) {
    for (const std::string& name : option.names) {
      const std::string excluded =
          option.repeats ? "*" : fmt::format("({})", fmt::join(option.names, " "));
      const std::string value =
          option.value_name.empty() ? "" : zsh_value(option.value_name, option);
      const bool with_equals = !value.empty() && name.starts_with("--");
      lines += fmt::format("    '{}{}{}[{}]{}' \\\n", excluded, name, with_equals ? "=" : "",
                           zsh_quote(option.description, "\\[]:"), value);
    }
  }
  size_t place = 1;
  for (const Argument& positional : command.positionals) {
    const std::string where = positional.repeats ? "*" : fmt::format("{}", place++);
    lines += fmt::format("    '{}{}' \\\n", where, zsh_value(positional.names[0], positional));
  }
  return lines;
}

std::string zsh_leaf(const Command& command) {
  return fmt::format("{}() {{\n  _arguments -S \\\n{}    && return 0\n}}\n\n",
                     zsh_function(command), zsh_arguments(command));
}

std::string zsh_branch(const Command& command) {
  std::string descriptions;
  std::string calls;
  for (const Command& child : command.commands) {
    descriptions +=
        fmt::format("        '{}:{}'\n", child.name, zsh_quote(child.description, "\\:"));
    calls += fmt::format("        {}) {} ;;\n", child.name, zsh_function(child));
  }
  return fmt::format(R"({function}() {{
  local context state state_descr line curcontext="$curcontext"
  local -a commands
  typeset -A opt_args
  _arguments -C -S \
{arguments}    '1: :->command' \
    '*:: :->rest' \
    && return 0
  case $state in
    command)
      commands=(
{descriptions}      )
      _describe -t commands command commands
      ;;
    rest)
      case $words[1] in
{calls}      esac
      ;;
  esac
}}

)",
                     fmt::arg("function", zsh_function(command)),
                     fmt::arg("arguments", zsh_arguments(command)),
                     fmt::arg("descriptions", descriptions), fmt::arg("calls", calls));
}

std::string zsh_script(const Command& root) {
  std::string functions;
  for_each_command(root, [&](const Command& command) {
    functions += command.commands.empty() ? zsh_leaf(command) : zsh_branch(command);
  });
  return fmt::format(R"(#compdef {name}
# zsh completion for {name}; made by `{name} completion zsh`.

{functions}if [[ $funcstack[1] == _{name} ]]; then
  _{name} "$@"
else
  compdef _{name} {name}
fi
)",
                     fmt::arg("name", root.name), fmt::arg("functions", functions));
}

// fish: one line a word, each under the condition that the command line has come to its command.

std::string fish_quote(std::string text) {
  text = replace_all(std::move(text), "\\", "\\\\");
  return "'" + replace_all(std::move(text), "'", "\\'") + "'";
}

std::string fish_value(const Argument& argument) {
  if (!argument.values.empty()) {
    return fmt::format(" -x -a '{}'", fmt::join(argument.values, " "));
  }
  return argument.takes_file ? " -r -F" : " -x";
}

std::string fish_lines(const Command& command, const std::string& root_name) {
  const std::string line =
      fmt::format("complete -c {} -n '__{}_at {}'", root_name, root_name, command.path);
  std::string lines;
  for (const Command& child : command.commands) {
    lines += fmt::format("{} -a {} -d {}\n", line, child.name, fish_quote(child.description));
  }
  for (const Argument& option : command.options) {
    std::string names;
    for (const std::string& name : option.names) {
      names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    lines += fmt::format("{}{}{} -d {}\n", line, names,
                         option.value_name.empty() ? "" : fish_value(option),
                         fish_quote(option.description));
  }
  for (const Argument& positional : command.positionals) {
    if (positional.takes_file) {
      lines += line + " -F\n";
    } else if (!positional.values.empty()) {
      lines += fmt::format("{} -a '{}' -d {}\n", line, fmt::join(positional.values, " "),
                           fish_quote(positional.description));
    }
  }
  return lines;
}

std::string fish_script(const Command& root) {
  std::string lines;
  for_each_command(root, [&](const Command& command) { lines += fish_lines(command, root.name); });
  return fmt::format(R"(# fish completion for {name}; made by `{name} completion fish`.
function __{name}_at
    set -l path {name}
    for word in (commandline -opc)[2..-1]
        if contains -- "$path $word" {paths}
            set path "$path $word"
        end
    end
    test "$path" = "$argv"
end
complete -c {name} -f
{lines})",
                     fmt::arg("name", root.name),
                     fmt::arg("paths", fmt::join(paths_below(root), " ")),
                     fmt::arg("lines", lines));
}

constexpr const char* kFooter = R"(Install it (zsh and fish: once more after every update):
  bash    echo 'source <(plimsoll completion bash)' >> ~/.bashrc
  zsh     plimsoll completion zsh > "${fpath[1]}/_plimsoll"
  fish    plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish

Try it in this shell only:
  source <(plimsoll completion bash)
  plimsoll completion fish | source)";

}  // namespace

std::string completion_script(const CLI::App& root, Shell shell) {
  const Command program = describe(root, "");
  switch (shell) {
    case Shell::bash:
      return bash_script(program);
    case Shell::zsh:
      return zsh_script(program);
    case Shell::fish:
      return fish_script(program);
  }
  return {};
}

void add_completion(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("completion", "Print a completion script for bash, zsh or fish");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "the shell to print it for")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>(kShells.begin(), kShells.end())));
  command->footer(kFooter);
  command->callback([shell, &app] {
    const auto* const found = std::find(kShells.begin(), kShells.end(), *shell);
    fmt::print("{}", completion_script(app, static_cast<Shell>(found - kShells.begin())));
  });
}

}  // namespace plimsoll::cli
