#include "cli/train_module.h"

#include <dlfcn.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libplimsoll_train.so";
constexpr const char* kRemedy = "install libtorch (Debian: libtorch-dev) and build again";

const char* last_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "no reason given" : text;
}

// Empty where there is none.
fs::path look_for_library(const std::vector<fs::path>& places) {
  const auto found = std::find_if(places.begin(), places.end(), [](const fs::path& place) {
    std::error_code unreadable;
    return fs::exists(place, unreadable);
  });
  return found == places.end() ? fs::path() : *found;
}

fs::path this_program() { return fs::read_symlink("/proc/self/exe"); }

fs::path find_library() {
  const auto places = train_library_places(this_program());
  fs::path found = look_for_library(places);
  if (found.empty()) {
    fail(ErrorKind::io,
         "this plimsoll was built without libtorch and cannot train: there is no {} beside {} nor "
         "in {}; {}",
         kLibrary, this_program().string(), places.back().parent_path().string(), kRemedy);
  }
  return found;
}

}  // namespace

std::vector<fs::path> train_library_places(const fs::path& program) {
  const fs::path folder = program.parent_path();
  return {folder / kLibrary, folder.parent_path() / "lib" / "plimsoll" / kLibrary};
}

void check_train_library() { find_library(); }

bool has_train_library() { return !look_for_library(train_library_places(this_program())).empty(); }

const train::Module& load_train_module() {
  const fs::path path = find_library();
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fail(ErrorKind::io, "the training library does not load: {}; {}", last_error(), kRemedy);
  }
  // POSIX has dlsym return functions as void*.
  const auto entry = reinterpret_cast<train::EntryPoint>(::dlsym(library, train::kEntryPoint));
  if (entry == nullptr) {
    fail(ErrorKind::io, "{} is not of this program: {}; {}", path.string(), last_error(), kRemedy);
  }
  return *entry();
}

}  // namespace plimsoll::cli
