// This program, started again as a part of a run.
#pragma once

#include <string>
#include <vector>

namespace plimsoll::launch {

// Runs this program with these words, the first of which is its name, and returns its exit code, or
// 128 + N after signal N. An interrupt is passed on to it, and it ends with this process.
int run_own_program(const std::vector<std::string>& words);

}  // namespace plimsoll::launch
