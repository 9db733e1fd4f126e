// Compiles the training library for the torch of a Python environment. A binary for each release of
// torch would break with the next; the sources of the library come with the program instead.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/built_library.h"

namespace plimsoll::launch {

// The torch of a Python environment.
struct PythonTorch {
  BuiltLibrary torch;
  bool new_abi = true;  // of std::string, as this program has it
};

// Nothing if the interpreter has no torch. Throws Error{io} if it cannot be started.
std::optional<PythonTorch> torch_of(const std::string& python);
// The same. Throws Error with the remedy if there is none, or this program cannot share its types.
PythonTorch usable_torch(const std::string& python);

// "a C++ compiler (Debian: apt install g++)", for each that is missing.
std::vector<std::string> missing_for_building(const std::optional<PythonTorch>& torch);

// As many compilers at a time as threads and memory allow.
unsigned usual_build_jobs();

// Compiles the library for this torch into its place, library_folder(); one that is there already
// is replaced when the new one is complete. Throws Error{io} after printing the end of the log if a
// step fails.
void build_library(const BuiltLibrary& torch, unsigned jobs);

}  // namespace plimsoll::launch
