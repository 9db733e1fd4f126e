// Suggestions for a command that ran out of memory: a smaller batch or a larger limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::diagnosis {

// "--batch-size 32 instead of 64" for a command with "--batch-size 64", "--batch_size=64" or
// "train.batch_size=64", also within `bash -c`; "--batch-size at half its value" if the command
// names none.
std::string smaller_batch(const std::vector<std::string>& command);

// "24G" for 16 GiB: 1.5 times as much, in whole GiB, or in whole MiB below 4 GiB. Nothing if that
// is more than `most_bytes`.
std::optional<std::string> larger_memory(uint64_t bytes, std::optional<uint64_t> most_bytes);

// "8G": at least `bytes`, in the form that the command line takes.
std::string rounded_up(uint64_t bytes);

}  // namespace plimsoll::diagnosis
