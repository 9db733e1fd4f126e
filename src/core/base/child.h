// Programs that this one starts and waits for: Python, cmake, Slurm's commands, and itself.
// Commands of users run under process/supervisor.h instead.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/host.h"

namespace plimsoll {

// "NAME=value" each.
using Environment = std::vector<std::string>;
Environment own_environment();
// With these changes; they replace variables of the same name.
Environment environment_with(const Environment& changes);

// The words in the form that exec() takes: pointers to them, and a null pointer at the end.
std::vector<char*> null_ended(const std::vector<std::string>& words);

struct ProgramCall {
  std::vector<std::string> words;  // the first is found on the PATH, unless it has a slash
  std::filesystem::path output;    // a file for both streams, written anew; empty: ours
  Environment environment = own_environment();
};

// Runs it and returns its exit code, or 128 + N if signal N ended it. It finds signals as they were
// before this program blocked them. Throws Error{io} if it cannot be started.
int run_child(const ProgramCall& call);

struct ProgramQuestion {
  std::vector<std::string> words;
  std::optional<std::string> input;  // its standard input; nothing: ours
  bool with_errors = false;          // its standard error is part of the answer; otherwise dropped
  std::optional<std::chrono::seconds> patience;  // then it is killed; nothing: no limit
  Environment environment = own_environment();
};

struct ProgramAnswer {
  bool in_time = true;
  int code = 0;        // as of run_child()
  std::string output;  // at most 1 MiB
  bool good() const { return in_time && code == 0; }
};

// Runs it and reads what it prints. Throws Error{io} if it cannot be started.
ProgramAnswer ask_child(const ProgramQuestion& question);

// The path of a program on the PATH, or of one named with a slash; empty if it is not there.
std::filesystem::path find_program(const std::string& name, const Host& host = Host::real());

// The interpreter that a user named, or $PLIMSOLL_PYTHON, which a wheel's script sets, or python3.
// Throws Error{io} with the remedy if there is no such interpreter.
std::string find_python(const std::string& wanted);

// The word as a POSIX shell reads it back: in quotes if it needs them.
std::string shell_word(const std::string& word);

// This program, for exec(): also if its file has been replaced meanwhile.
inline constexpr const char* kThisProgram = "/proc/self/exe";
// The path of its file. Throws std::filesystem::filesystem_error.
std::filesystem::path own_program();

// The words of this process's command line, the program's name first. Throws Error{io} if /proc
// cannot be read.
std::vector<std::string> own_words();
// The same, quoted for a shell; empty if /proc cannot be read.
std::string own_command();

}  // namespace plimsoll
