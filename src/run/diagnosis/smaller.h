// How a command could be asked for less: its batch size, where its command line has one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::diagnosis {

// "--batch-size 32 instead of 64" for a command with "--batch-size 64", "--batch_size=64" or
// "train.batch_size=64", also within `bash -c`; "--batch-size at half its value" where none is
// named.
std::string smaller_batch(const std::vector<std::string>& command);

// "24G" for 16 GiB: half as much again, in whole GiB, or in whole MiB below 4 GiB; nothing where
// that is more than `most_bytes`.
std::optional<std::string> larger_memory(uint64_t bytes, std::optional<uint64_t> most_bytes);

// "8G": not less than `bytes`, for a command line.
std::string rounded_up(uint64_t bytes);

}  // namespace plimsoll::diagnosis
