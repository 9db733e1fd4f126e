// The library that knows torch: opened when a command needs it, because loading it takes half a
// second and 160 MB.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/job.h"

namespace plimsoll::launch {

// Where the library may lie for a program of this path, in the order of looking.
std::vector<std::filesystem::path> train_library_places(const std::filesystem::path& program);

// What to say where it lies in none of them.
std::string without_train_library(const std::filesystem::path& program, bool built_with_libtorch);

// Throws Error{io} where it lies in none of them: to know before hours of other work.
void check_train_library();
bool has_train_library();

// Opens the library; it stays open until the process ends. Throws Error{io} where it is missing or
// does not load.
const train::Module& load_train_module();

}  // namespace plimsoll::launch
