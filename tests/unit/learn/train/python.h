// Python's torch, where there is one, as the judge of our files.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "temp_folder.h"

namespace plimsoll::train {

// A python3 that can import torch; empty where there is none.
inline const std::string& python_with_torch() {
  static const std::string kFound = [] {
    for (const std::string name : {"/usr/bin/python3", "python3"}) {
      if (std::system((name + " -c 'import torch' >/dev/null 2>&1").c_str()) == 0) return name;
    }
    return std::string();
  }();
  return kFound;
}

// Writes `code` into the folder and runs it there. It must assert.
inline void expect_python(const std::filesystem::path& folder, const std::string& code) {
  write_file(folder / "check.py", code);
  const std::string command =
      fmt::format("cd '{}' && {} check.py >output 2>&1", folder.string(), python_with_torch());
  EXPECT_EQ(std::system(command.c_str()), 0) << read_file(folder / "output");
}

}  // namespace plimsoll::train
