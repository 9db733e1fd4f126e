// The training library that `plimsoll torch build` has compiled for a torch of the user's. It lies
// in the user's cache, under the checksum of the program that it belongs to: another build of the
// program does not take it. A program at one place uses the one that was built last from there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace plimsoll::launch {

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

}  // namespace plimsoll::launch
