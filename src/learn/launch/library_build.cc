#include "launch/library_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/child.h"
#include "base/error.h"
#include "base/host.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/print.h"
#include "base/text_file.h"
#include "base/units.h"
#include "io/file.h"
#include "io/partial_file.h"
#include "launch/train_module.h"
#include "memory/limit.h"

namespace plimsoll::launch {
namespace {

namespace fs = std::filesystem;
using io::checksum_of;

constexpr const char* kDescription = "about.json";
constexpr uint64_t kMostProgramBytes = uint64_t{256} << 20;
constexpr uint64_t kMostDescriptionBytes = uint64_t{64} << 10;

// Of all programs; empty if the user has no cache folder.
fs::path all_libraries() {
  const fs::path cache = user_folder(Host::real(), "XDG_CACHE_HOME", ".cache");
  return cache.empty() ? cache : cache / "torch";
}

// Empty if nothing was ever built: then the program need not be read.
fs::path existing_libraries(const fs::path& program) {
  const fs::path all = all_libraries();
  std::error_code none;
  return all.empty() || !fs::exists(all, none) ? fs::path() : built_libraries(program);
}

fs::path choice_in(const fs::path& libraries, const fs::path& program) {
  return libraries / ("chosen-" + checksum_of(program.string()));
}

}  // namespace

fs::path built_libraries(const fs::path& program) {
  const fs::path all = all_libraries();
  if (all.empty()) {
    fail(ErrorKind::io, "there is no place for the library: set HOME or XDG_CACHE_HOME");
  }
  return all / checksum_of(read_small_file(program, kMostProgramBytes));
}

fs::path library_folder(const fs::path& program, const BuiltLibrary& torch) {
  return built_libraries(program) /
         fmt::format("{}-{}", torch.torch, checksum_of(torch.torch_folder.string()).substr(0, 8));
}

void describe_library(const fs::path& folder, const BuiltLibrary& built) {
  const nlohmann::ordered_json json = {
      {"torch", built.torch}, {"torch_folder", built.torch_folder.string()}, {"cuda", built.cuda}};
  io::write_whole(folder / kDescription, json_text(json) + "\n");
}

std::optional<BuiltLibrary> read_library(const fs::path& folder) {
  const fs::path library = folder / kTrainLibrary;
  std::error_code unreadable;
  if (!fs::exists(library, unreadable) || !fs::exists(folder / kDescription, unreadable)) return {};
  try {
    using Json = nlohmann::json;
    const std::string text = read_small_file(folder / kDescription, kMostDescriptionBytes);
    return from_json<Json>(text, kDescription, [&](const Json& json) {
      return BuiltLibrary{.library = library,
                          .torch = json.at("torch").get<std::string>(),
                          .torch_folder = json.at("torch_folder").get<std::string>(),
                          .cuda = json.at("cuda").get<std::string>()};
    });
  } catch (const Error&) {
    return {};
  }
}

std::optional<BuiltLibrary> chosen_library(const fs::path& program) {
  const fs::path libraries = existing_libraries(program);
  if (libraries.empty()) return {};
  std::error_code none;
  const fs::path name = fs::read_symlink(choice_in(libraries, program), none);
  return none ? std::nullopt : read_library(libraries / name);
}

void choose_library(const fs::path& program, const fs::path& folder) {
  const fs::path choice = choice_in(built_libraries(program), program);
  const fs::path fresh = choice.string() + ".new";
  fs::remove(fresh);
  fs::create_symlink(folder.filename(), fresh);
  fs::rename(fresh, choice);
  io::sync_folder(choice.parent_path());
}

bool remove_libraries(const fs::path& program) {
  const fs::path libraries = existing_libraries(program);
  return !libraries.empty() && fs::remove_all(libraries) > 0;
}

// ---- building one ----

namespace {

constexpr uint64_t kBytesOfACompiler = 2 * kGiB;  // on torch's headers
constexpr uint64_t kMostLogBytes = 64 * kMiB;
constexpr size_t kShownLogBytes = 2000;

constexpr const char* kTorchQuestion = R"(import json, os, sys
sys.path[:] = [folder for folder in sys.path if folder]
import torch
print(json.dumps({"version": torch.__version__, "folder": os.path.dirname(os.path.realpath(torch.__file__)),
                  "cuda": torch.version.cuda or "", "abi": bool(torch._C._GLIBCXX_USE_CXX11_ABI)}))
)";

// What the library is compiled from: beside an installed program, or the source tree around it.
struct LibrarySources {
  fs::path source;
  fs::path headers;  // empty: the compiler finds them
};

std::optional<LibrarySources> find_sources() {
  const fs::path folder = own_program().parent_path();
  const fs::path shared = folder.parent_path() / "share" / "plimsoll";
  if (fs::exists(shared / "source" / "CMakeLists.txt")) {
    return LibrarySources{shared / "source", shared / "include"};
  }
  const fs::path tree = folder.parent_path().parent_path();
  if (fs::exists(tree / "cmake" / "library_alone.cmake")) return LibrarySources{tree, {}};
  return std::nullopt;
}

std::string end_of_log(const fs::path& log) {
  std::string text = read_small_file(log, kMostLogBytes);
  if (text.size() > kShownLogBytes)
    text.erase(0, text.find('\n', text.size() - kShownLogBytes) + 1);
  return text;
}

// Runs one step of the build with its output in `log`; shows the end of it if it fails.
void build_step(const char* what, std::vector<std::string> words, const fs::path& log) {
  const int code = run_child({.words = std::move(words), .output = log});
  throw_if_interrupted();
  if (code == 0) return;
  print_to(stderr, "{}", end_of_log(log));
  fail(ErrorKind::io, "{} failed with exit code {}; the lines above say why", what, code);
}

void compile_library(const LibrarySources& sources, const BuiltLibrary& torch, unsigned jobs,
                     const fs::path& out) {
  const fs::path build = out / "build";
  const fs::path log = out / "log";
  std::vector<std::string> configure = {"cmake",
                                        "-S",
                                        sources.source.string(),
                                        "-B",
                                        build.string(),
                                        "-DCMAKE_BUILD_TYPE=Release",
                                        "-DCMAKE_UNITY_BUILD=ON",
                                        "-DPLIMSOLL_PROGRAM=OFF",
                                        "-DPLIMSOLL_TORCH_FOLDER=" + torch.torch_folder.string(),
                                        "-DPLIMSOLL_HEADERS=" + sources.headers.string()};
  if (!find_program("ninja").empty()) configure.insert(configure.end(), {"-G", "Ninja"});
  build_step("cmake", std::move(configure), log);
  build_step("compiling",
             {"cmake", "--build", build.string(), "--target", "plimsoll_train_module", "-j",
              fmt::format("{}", jobs)},
             log);
  io::sync_file(build / kTrainLibrary);
  fs::rename(build / kTrainLibrary, out / kTrainLibrary);
  fs::remove_all(build);
  fs::remove(log);
}

}  // namespace

std::optional<PythonTorch> torch_of(const std::string& python) {
  const ProgramAnswer answer = ask_child({.words = {python, "-c", kTorchQuestion}});
  if (!answer.good()) return std::nullopt;
  using Json = nlohmann::json;
  try {
    return from_json<Json>(answer.output, python, [](const Json& json) {
      PythonTorch found;
      found.torch.torch = json.at("version").get<std::string>();
      found.torch.torch_folder = json.at("folder").get<std::string>();
      found.torch.cuda = json.at("cuda").get<std::string>();
      found.new_abi = json.at("abi").get<bool>();
      return found;
    });
  } catch (const Error&) {
    return std::nullopt;
  }
}

PythonTorch usable_torch(const std::string& python) {
  const auto torch = torch_of(python);
  if (!torch) {
    fail(ErrorKind::io,
         "{} has no torch; install torch there (pip install torch, Debian: python3-torch), or name "
         "another interpreter with --python",
         python);
  }
  if (!torch->new_abi) {
    fail(ErrorKind::input,
         "torch {} in {} was built with the old C++ interface of std::string, which this program "
         "cannot share; use torch 2.7 or later, or one of conda-forge",
         torch->torch.torch, torch->torch.torch_folder.string());
  }
  return *torch;
}

std::vector<std::string> missing_for_building(const std::optional<PythonTorch>& torch) {
  std::vector<std::string> missing;
  if (find_program("c++").empty() && !Host::real().variable("CXX")) {
    missing.emplace_back("a C++ compiler (Debian: apt install g++; conda: cxx-compiler)");
  }
  if (find_program("cmake").empty()) {
    missing.emplace_back("cmake (Debian: apt install cmake; pip install cmake)");
  }
  if (find_program("ninja").empty() && find_program("make").empty()) {
    missing.emplace_back("make or ninja (Debian: apt install make; pip install ninja)");
  }
  if (!find_sources()) {
    missing.emplace_back(
        "the sources of the library, which make install, the .deb and the wheel bring");
  }
  if (torch) {
    const fs::path header = torch->torch.torch_folder / "include" / "torch" / "csrc" / "api" /
                            "include" / "torch" / "torch.h";
    if (!fs::exists(header)) {
      missing.push_back(
          fmt::format("torch's headers, {} (Debian: apt install libtorch-dev)", header.string()));
    }
  }
  return missing;
}

unsigned usual_build_jobs() {
  const uint64_t bytes = memory::detect_limit().bytes;
  return static_cast<unsigned>(
      std::clamp<uint64_t>(bytes / kBytesOfACompiler, 1, available_threads()));
}

void build_library(const BuiltLibrary& torch, unsigned jobs) {
  const fs::path folder = library_folder(own_program(), torch);
  const auto sources = find_sources();
  if (!sources) fail(ErrorKind::io, "the sources of the training library are missing");
  fs::create_directories(folder.parent_path());
  io::StagedFolder staged(folder, /*replace=*/true);
  compile_library(*sources, torch, jobs, staged.path());
  describe_library(staged.path(), torch);
  staged.commit();
}

}  // namespace plimsoll::launch
