// The training library, the only part that uses torch. It is loaded only when a command needs it,
// because that takes a third of a second and 90 MB.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "train/job.h"

namespace plimsoll::launch {

constexpr const char* kTrainLibrary = "libplimsoll_train.so";

// The paths where the library is searched for a program with this path, in order.
std::vector<std::filesystem::path> train_library_places(const std::filesystem::path& program);

// The error message if it is in none of them.
std::string without_train_library(const std::filesystem::path& program, bool built_with_libtorch);

// The library that this program uses: the one that `plimsoll torch build` made, or the first of the
// places above; empty if there is none.
std::filesystem::path train_library();
// Throws Error{io} if there is none. Call it before hours of other work.
void check_train_library();
bool has_train_library();
// Whether its torch has CUDA, as far as it is known before it is loaded.
bool train_library_has_cuda();
// The memory that its libtorch usually takes (train/job.h).
uint64_t usual_runtime_bytes(bool gpu);

// Opens the library; it stays open until the process ends. Throws Error{io} if it is missing or
// cannot be loaded.
const train::Module& load_train_module();

}  // namespace plimsoll::launch
