// plimsoll torch: which torch trains here, and `torch build`, which compiles the training library
// for the torch of a Python environment.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/child.h"
#include "base/error.h"
#include "base/print.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "launch/library_build.h"
#include "launch/train_module.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using launch::BuiltLibrary;

struct TorchOptions {
  std::string python;
  unsigned jobs = 0;
  bool force = false;
};

std::string with_cuda(const BuiltLibrary& torch) {
  return torch.cuda.empty() ? "without CUDA" : "with CUDA " + torch.cuda;
}

void build(const TorchOptions& options) {
  const std::string python = find_python(options.python);
  const launch::PythonTorch found = launch::usable_torch(python);
  const BuiltLibrary& torch = found.torch;
  const fs::path program = own_program();
  const fs::path folder = launch::library_folder(program, torch);
  print("torch {}, {}, of {}\n", torch.torch, with_cuda(torch), python);
  if (launch::read_library(folder) && !options.force) {
    print("built already; --force builds it again\n");
  } else {
    if (const auto missing = launch::missing_for_building(found); !missing.empty()) {
      fail(ErrorKind::io, "to build the training library, this is missing: {}",
           fmt::join(missing, "; "));
    }
    const unsigned jobs = options.jobs == 0 ? launch::usual_build_jobs() : options.jobs;
    print("compiling the training library with {}; this takes some minutes\n",
          counted(jobs, "job"));
    std::fflush(stdout);
    const auto start = std::chrono::steady_clock::now();
    launch::build_library(torch, jobs);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    print("compiled in {}\n", format_seconds(taken.count()));
  }
  launch::choose_library(program, folder);
  launch::load_train_module();  // throws if it does not load
  print("train and predict now use {}\n", launch::train_library().string());
}

void remove_library() {
  const bool removed = launch::remove_libraries(own_program());
  print("{}\n", removed ? "removed what torch build had made for this program"
                        : "torch build has made nothing for this program");
}

void show_library() {
  const fs::path library = launch::train_library();
  if (library.empty()) {
    print("training   not possible: this program has no training library\n");
  } else {
    print("training   {}\n", library.string());
    if (const auto built = launch::chosen_library(own_program())) {
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
  std::optional<launch::PythonTorch> torch;
  try {
    const std::string python = find_python(options.python);
    torch = launch::torch_of(python);
    print("python     {}: {}\n", python,
          torch ? fmt::format("torch {}, {}, in {}", torch->torch.torch, with_cuda(torch->torch),
                              torch->torch.torch_folder.string())
                : "no torch");
  } catch (const Error& error) {
    print("python     {}\n", error.what());
  }
  const auto missing = launch::missing_for_building(torch);
  print("to build   {}\n", missing.empty() ? "everything is there: plimsoll torch build"
                                           : fmt::format("missing: {}", fmt::join(missing, "; ")));
}

void add_torch_build(CLI::App& torch) {
  CLI::App* command =
      torch.add_subcommand("build", "Compile the training library for the torch of your Python");
  auto options = std::make_shared<TorchOptions>();
  add_python(*command, options->python);
  command->add_option("--jobs", options->jobs, "number of compilers that run at once")
      ->check(whole_number(1, 1024))
      ->default_str("as threads and memory allow")
      ->type_name("N");
  command->add_flag("--force", options->force, "build it again");
  command->footer(
      R"(Needs a C++ compiler (g++ 12 or later) and cmake 3.25 or later, but no CUDA compiler, not even for
a torch with CUDA. Takes some minutes. The library is kept in $XDG_CACHE_HOME/plimsoll/torch
(~/.cache), one for each torch, and this program uses the one that was built last.

Examples:
  plimsoll torch build
  plimsoll torch build --python ~/venv/bin/python)");
  command->callback([options] { build(*options); });
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
