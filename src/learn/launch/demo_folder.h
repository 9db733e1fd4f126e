// The folder of `plimsoll demo`, and which folders it may delete.
#pragma once

#include <filesystem>

namespace plimsoll::launch {

// Makes the folder anew, with a file that marks it. With `replace`, removes what it held before:
// only a folder that a demo has made, or an empty one, is ever removed. Throws Error{exists}.
void make_demo_folder(const std::filesystem::path& folder, bool replace);

}  // namespace plimsoll::launch
