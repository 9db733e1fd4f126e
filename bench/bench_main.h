// What the measuring programs of this folder share.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <exception>

namespace plimsoll {

// For main(): an exception is printed behind the program's name and ends it with code 1.
inline int bench_main(const char* name, int (*run)(int, char**), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
}

}  // namespace plimsoll
