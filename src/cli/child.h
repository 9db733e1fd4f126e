// Other programs that a command calls: Python, cmake, and this program itself.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::cli {

struct ProgramCall {
  std::vector<std::string> words;  // the first is found on the PATH, unless it has a slash
  std::filesystem::path output;    // a file for both streams, written anew; empty: ours
  std::vector<std::pair<std::string, std::string>> variables;  // added to the environment
};

// Runs it and returns its exit code, or 128 + N if signal N ended it. It finds signals as they were
// before this program blocked them. Throws Error{io} if it cannot be started.
int run_child(const ProgramCall& options);

// The standard output of a program that ended with 0, at most 1 MiB. Nothing if it could not be
// started or ended otherwise.
std::optional<std::string> ask_child(const std::vector<std::string>& words);

// The path of a program on the PATH; empty if it is not there.
std::filesystem::path find_on_path(const std::string& name);

// --python: the interpreter; without it $PLIMSOLL_PYTHON, which a wheel's script sets, or python3.
void add_python(CLI::App& command, std::string& python);
// Throws Error{io} with the remedy if there is no such interpreter.
std::string find_python(const std::string& wanted);

}  // namespace plimsoll::cli
