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

fs::path find_library() {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const auto places = train_library_places(program);
  const auto found = std::find_if(places.begin(), places.end(), [](const fs::path& place) {
    std::error_code unreadable;
    return fs::exists(place, unreadable);
  });
  if (found == places.end()) {
    fail(ErrorKind::io,
         "this plimsoll was built without libtorch and cannot train: there is no {} beside {} nor "
         "in {}; {}",
         kLibrary, program.string(), places.back().parent_path().string(), kRemedy);
  }
  return *found;
}

}  // namespace

std::vector<fs::path> train_library_places(const fs::path& program) {
  const fs::path folder = program.parent_path();
  return {folder / kLibrary, folder.parent_path() / "lib" / "plimsoll" / kLibrary};
}

void check_train_library() { find_library(); }

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
