#include "launch/train_module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/child.h"
#include "base/error.h"
#include "launch/library_build.h"

namespace plimsoll::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlaceholders = "placeholders";  // a folder beside the library
// train::kRuntimeBytes where the folder keeps out what libtorch does not use.
constexpr uint64_t kLeanRuntimeBytes = uint64_t{102} << 20;
constexpr const char* kRemedy =
    "install the libtorch that it was built with, or build again (plimsoll torch build)";
#ifdef PLIMSOLL_TORCH_CUDA
constexpr bool kBuiltWithCuda = true;
#else
constexpr bool kBuiltWithCuda = false;
#endif
#ifdef PLIMSOLL_WITH_LIBTORCH
constexpr bool kBuiltWithLibtorch = true;
#else
constexpr bool kBuiltWithLibtorch = false;
#endif

// The loader's error. If it begins with the library's own path, the path is removed.
std::string last_error(const fs::path& library) {
  const char* text = ::dlerror();
  std::string reason = text == nullptr ? "no reason given" : text;
  const std::string opening = library.string() + ": ";
  if (reason.starts_with(opening)) reason.erase(0, opening.size());
  return reason;
}

// Empty if it is in none of these places.
fs::path look_for_library(const std::vector<fs::path>& places) {
  const auto found = std::find_if(places.begin(), places.end(), [](const fs::path& place) {
    std::error_code unreadable;
    return fs::exists(place, unreadable);
  });
  return found == places.end() ? fs::path() : *found;
}

fs::path find_library() {
  fs::path found = train_library();
  if (found.empty()) {
    fail(ErrorKind::io, "{}", without_train_library(own_program(), kBuiltWithLibtorch));
  }
  return found;
}

// OpenMP's threads spin while they wait for work: 300,000 rounds by default, many milliseconds. The
// threads that draw and gather batches need these cores. 1,000 rounds is what libgomp itself takes
// when it knows of more threads than cores. It reads the variable when it is loaded; a user's own
// choice stays.
void limit_spinning() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    ::setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/0);
  }
}

// Empty libraries in the place of those that libtorch asks for but does not use: the dynamic linker
// loads no second library of the same name. Without them, loading takes twice the time.
class Placeholders {
 public:
  explicit Placeholders(const fs::path& folder) {
    std::error_code none;
    for (const auto& file : fs::directory_iterator(folder, none)) {
      if (void* opened = ::dlopen(file.path().c_str(), RTLD_LAZY | RTLD_LOCAL)) {
        opened_.push_back(opened);
      }
    }
  }
  // The libraries of these names are loaded again where they are needed.
  void close() {
    for (void* opened : opened_) ::dlclose(opened);
    opened_.clear();
  }

 private:
  std::vector<void*> opened_;
};

// If libtorch does use one of them, it does not load with its placeholder, but without.
void* open_library(const fs::path& library) {
  Placeholders placeholders(library.parent_path() / kPlaceholders);
  if (void* opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) return opened;
  placeholders.close();
  return ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

std::vector<fs::path> train_library_places(const fs::path& program) {
  const fs::path folder = program.parent_path();
  return {folder / kTrainLibrary, folder.parent_path() / "lib" / "plimsoll" / kTrainLibrary};
}

std::string without_train_library(const fs::path& program, bool built_with_libtorch) {
  if (!built_with_libtorch) {
    return fmt::format(
        "{} was built without libtorch and cannot train; `plimsoll torch build` compiles the "
        "training library for the torch of your Python, or install libtorch (Debian: libtorch-dev) "
        "and build again",
        program.string());
  }
  const auto places = train_library_places(program);
  return fmt::format(
      "the training library is missing: there is neither {} nor {}; `plimsoll torch build` "
      "compiles it for the torch of your Python. Or copy {} from the folder where plimsoll was "
      "built, or install both with make install",
      places.front().string(), places.back().string(), kTrainLibrary);
}

fs::path train_library() {
  if (const auto built = chosen_library(own_program())) return built->library;
  return look_for_library(train_library_places(own_program()));
}

void check_train_library() { find_library(); }

bool has_train_library() { return !train_library().empty(); }

bool train_library_has_cuda() {
  const auto built = chosen_library(own_program());
  return built ? !built->cuda.empty() : kBuiltWithCuda;
}

uint64_t usual_runtime_bytes(bool gpu) {
  if (gpu) return train::kGpuRuntimeBytes;
  if (train_library_has_cuda()) return train::kCudaRuntimeBytes;
  std::error_code none;
  return fs::exists(train_library().parent_path() / kPlaceholders, none) ? kLeanRuntimeBytes
                                                                         : train::kRuntimeBytes;
}

const train::Module& load_train_module() {
  const fs::path path = find_library();
  limit_spinning();
  void* library = open_library(path);
  if (library == nullptr) {
    fail(ErrorKind::io, "the training library {} does not load: {}; {}", path.string(),
         last_error(path), kRemedy);
  }
  // POSIX lets dlsym return functions as void*.
  const auto entry = reinterpret_cast<train::EntryPoint>(::dlsym(library, train::kEntryPoint));
  if (entry == nullptr) {
    fail(ErrorKind::io, "{} is not the training library of this program: {}; {}", path.string(),
         last_error(path), kRemedy);
  }
  return *entry();
}

}  // namespace plimsoll::launch
