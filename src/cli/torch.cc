// plimsoll torch: which torch trains here, and `torch build`, which compiles the training library
// for the torch of a Python environment. A binary for each release of torch would break with the
// next; the sources of the library come with the program instead.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/print.h"
#include "base/text_file.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/child.h"
#include "cli/command.h"
#include "io/staged_folder.h"
#include "io/sync.h"
#include "launch/built_library.h"
#include "launch/train_module.h"
#include "memory/limit.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using launch::BuiltLibrary;

constexpr uint64_t kBytesOfACompiler = 2 * kGiB;
constexpr uint64_t kMostLogBytes = 64 * kMiB;
constexpr size_t kShownLogBytes = 2000;

struct TorchOptions {
  std::string python;
  unsigned jobs = 0;
  bool force = false;
};

// The torch of a Python environment.
struct PythonTorch {
  BuiltLibrary torch;
  bool new_abi = true;  // of std::string, as this program has it
};

constexpr const char* kQuestion = R"(import json, os, sys
sys.path[:] = [folder for folder in sys.path if folder]
import torch
print(json.dumps({"version": torch.__version__, "folder": os.path.dirname(os.path.realpath(torch.__file__)),
                  "cuda": torch.version.cuda or "", "abi": bool(torch._C._GLIBCXX_USE_CXX11_ABI)}))
)";

// Nothing if the interpreter has no torch.
std::optional<PythonTorch> torch_of(const std::string& python) {
  const auto answer = ask_child({python, "-c", kQuestion});
  if (!answer) return std::nullopt;
  using Json = nlohmann::json;
  try {
    return from_json<Json>(*answer, python, [](const Json& json) {
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

std::string with_cuda(const BuiltLibrary& torch) {
  return torch.cuda.empty() ? "without CUDA" : "with CUDA " + torch.cuda;
}

// What the library is compiled from: beside an installed program, or the source tree around it.
struct Sources {
  fs::path source;
  fs::path headers;  // empty: the compiler finds them
};

std::optional<Sources> find_sources() {
  const fs::path folder = launch::this_program().parent_path();
  const fs::path shared = folder.parent_path() / "share" / "plimsoll";
  if (fs::exists(shared / "source" / "CMakeLists.txt")) {
    return Sources{shared / "source", shared / "include"};
  }
  const fs::path tree = folder.parent_path().parent_path();
  if (fs::exists(tree / "cmake" / "library_alone.cmake")) return Sources{tree, {}};
  return std::nullopt;
}

// "g++ (Debian: apt install g++)", for each that is missing.
std::vector<std::string> missing_for_building(const std::optional<PythonTorch>& torch) {
  std::vector<std::string> missing;
  if (find_on_path("c++").empty() && !Host::real().variable("CXX")) {
    missing.emplace_back("a C++ compiler (Debian: apt install g++; conda: cxx-compiler)");
  }
  if (find_on_path("cmake").empty()) {
    missing.emplace_back("cmake (Debian: apt install cmake; pip install cmake)");
  }
  if (find_on_path("ninja").empty() && find_on_path("make").empty()) {
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

// Each compiler takes up to 2 GiB on torch's headers.
unsigned usual_jobs() {
  const uint64_t bytes = memory::detect_limit().bytes;
  return static_cast<unsigned>(
      std::clamp<uint64_t>(bytes / kBytesOfACompiler, 1, available_threads()));
}

std::string last_lines(const fs::path& log) {
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
  print_to(stderr, "{}", last_lines(log));
  fail(ErrorKind::io, "{} failed with exit code {}; the lines above say why", what, code);
}

void compile(const Sources& sources, const BuiltLibrary& torch, unsigned jobs,
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
  if (!find_on_path("ninja").empty()) configure.insert(configure.end(), {"-G", "Ninja"});
  build_step("cmake", std::move(configure), log);
  build_step("compiling",
             {"cmake", "--build", build.string(), "--target", "plimsoll_train_module", "-j",
              fmt::format("{}", jobs)},
             log);
  io::sync_file(build / launch::kTrainLibrary);
  fs::rename(build / launch::kTrainLibrary, out / launch::kTrainLibrary);
  fs::remove_all(build);
  fs::remove(log);
}

PythonTorch wanted_torch(const std::string& python) {
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

void build_library(const TorchOptions& options) {
  const std::string python = find_python(options.python);
  const PythonTorch found = wanted_torch(python);
  const BuiltLibrary& torch = found.torch;
  const fs::path program = launch::this_program();
  const fs::path folder = launch::library_folder(program, torch);
  print("torch {}, {}, of {}\n", torch.torch, with_cuda(torch), python);
  if (launch::read_library(folder) && !options.force) {
    print("built already; --force builds it again\n");
  } else {
    if (const auto missing = missing_for_building(found); !missing.empty()) {
      fail(ErrorKind::io, "to build the training library, this is missing: {}",
           fmt::join(missing, "; "));
    }
    const unsigned jobs = options.jobs == 0 ? usual_jobs() : options.jobs;
    print("compiling the training library with {}; this takes some minutes\n",
          counted(jobs, "job"));
    std::fflush(stdout);
    const auto start = std::chrono::steady_clock::now();
    fs::create_directories(folder.parent_path());
    io::StagedFolder staged(folder, /*replace=*/true);
    compile(*find_sources(), torch, jobs, staged.path());
    launch::describe_library(staged.path(), torch);
    staged.commit();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    print("compiled in {}\n", format_seconds(taken.count()));
  }
  launch::choose_library(program, folder);
  launch::load_train_module();  // throws if it does not load
  print("train and predict now use {}\n", launch::train_library().string());
}

void remove_library() {
  const bool removed = launch::remove_libraries(launch::this_program());
  print("{}\n", removed ? "removed what torch build had made for this program"
                        : "torch build has made nothing for this program");
}

void show_library() {
  const fs::path library = launch::train_library();
  if (library.empty()) {
    print("training   not possible: this program has no training library\n");
  } else {
    print("training   {}\n", library.string());
    if (const auto built = launch::chosen_library(launch::this_program())) {
      print("built for  torch {}, {}, in {}\n", built->torch, with_cuda(*built),
            built->torch_folder.string());
    } else {
      print("built for  the libtorch of its build, {}\n",
            launch::train_library_has_cuda() ? "with CUDA" : "without CUDA");
    }
    try {
      launch::load_train_module();
      print("state      it loads\n");
    } catch (const Error& error) {
      print("state      {}\n", error.what());
    }
  }
}

void show_torch(const TorchOptions& options) {
  show_library();
  std::optional<PythonTorch> torch;
  try {
    const std::string python = find_python(options.python);
    torch = torch_of(python);
    print("python     {}: {}\n", python,
          torch ? fmt::format("torch {}, {}, in {}", torch->torch.torch, with_cuda(torch->torch),
                              torch->torch.torch_folder.string())
                : "no torch");
  } catch (const Error& error) {
    print("python     {}\n", error.what());
  }
  const auto missing = missing_for_building(torch);
  print("to build   {}\n", missing.empty() ? "everything is there: plimsoll torch build"
                                           : fmt::format("missing: {}", fmt::join(missing, "; ")));
}

void add_torch_build(CLI::App& torch) {
  CLI::App* command =
      torch.add_subcommand("build", "Compile the training library for the torch of your Python");
  auto options = std::make_shared<TorchOptions>();
  add_python(*command, options->python);
  command->add_option("--jobs", options->jobs, "compilers at a time")
      ->check(whole_number(1, 1024))
      ->default_str("as threads and memory allow")
      ->type_name("N");
  command->add_flag("--force", options->force, "build it again");
  command->footer(
      R"(Needs a C++ compiler (g++ 12 or later) and cmake 3.25 or later; no CUDA compiler, also for a torch
with CUDA. Takes some minutes. The library is kept in $XDG_CACHE_HOME/plimsoll/torch (~/.cache), one
for each torch, and this program uses the one that was built last.

Examples:
  plimsoll torch build
  plimsoll torch build --python ~/venv/bin/python)");
  command->callback([options] { build_library(*options); });
}

}  // namespace

void add_torch(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "torch", "Show which torch trains, or build the training library for yours");
  auto options = std::make_shared<TorchOptions>();
  add_python(*command, options->python);
  add_torch_build(*command);
  command->add_subcommand("remove", "Remove what torch build has made for this program")
      ->callback([] { remove_library(); });
  command->require_subcommand(0, 1);
  command->footer(R"(Examples:
  plimsoll torch
  plimsoll torch build)");
  command->callback([command, options] {
    if (command->get_subcommands().empty()) show_torch(*options);
  });
}

}  // namespace plimsoll::cli
