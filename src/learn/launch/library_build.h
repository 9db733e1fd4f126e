// `plimsoll torch build`: compiles the training library for the torch of a Python environment, and
// keeps it for this program. A binary works with one release of torch only, so the sources of
// the library come with the program.
//
// Libraries are in the user's cache, under the checksum of the program that they belong to: another
// build of the program does not use them. Each path of a program has its own choice: the library
// that was built last from there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::launch {

// ---- the libraries that were built ----

struct BuiltLibrary {
  std::filesystem::path library;
  std::string torch;                   // its version
  std::filesystem::path torch_folder;  // the Python package
  std::string cuda;                    // the version; empty: without CUDA
};

// Where the libraries of this program lie, one folder for each torch. Throws Error{io} if the user
// has no cache folder.
std::filesystem::path built_libraries(const std::filesystem::path& program);
// The folder for this torch in it.
std::filesystem::path library_folder(const std::filesystem::path& program,
                                     const BuiltLibrary& torch);

// The file beside the library that describes it.
void describe_library(const std::filesystem::path& folder, const BuiltLibrary& built);
// Nothing if there is no library, or no description of it.
std::optional<BuiltLibrary> read_library(const std::filesystem::path& folder);

// The one that this program is to use, if it was built and is still there.
std::optional<BuiltLibrary> chosen_library(const std::filesystem::path& program);
void choose_library(const std::filesystem::path& program, const std::filesystem::path& folder);
// Removes all of this program. False if there was none.
bool remove_libraries(const std::filesystem::path& program);

// ---- building one ----

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
