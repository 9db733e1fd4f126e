// plimsoll demo: the main job on a synthetic graph. Runs this program's own commands one after the
// other, as a user would, and shows each of them.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "base/interrupt.h"
#include "base/print.h"
#include "base/shell_word.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "launch/train_module.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  fs::path folder = "demo";
  double scale = 0.01;
  bool force = false;
};

// Starts this program with these words and returns its exit code. Signals are as they were before
// this program blocked them.
int run_command(const std::vector<std::string>& words) {
  std::vector<char*> pointers = {const_cast<char*>("plimsoll")};
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, "/proc/self/exe", nullptr, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) fail_errno("start", "/proc/self/exe", error);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) fail_errno("wait for", "plimsoll", errno);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void step(const std::vector<std::string>& words) {
  const bool bold = isatty(STDOUT_FILENO) == 1;
  std::string line;
  for (const std::string& word : words) line += " " + shell_word(word);
  print("\n");
  fmt::print("{}$ plimsoll{}{}\n", bold ? "\033[1m" : "", line, bold ? "\033[0m" : "");
  std::fflush(stdout);
  const int code = run_command(words);
  throw_if_interrupted();
  if (code != 0) throw ExitWith{code};
}

double test_accuracy(const fs::path& run) {
  const auto text = read_text(run / "results.json");
  const auto json = nlohmann::json::parse(text.value_or(""), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("test_acc") || !json.at("test_acc").is_number()) {
    fail(ErrorKind::internal, "{} has no test_acc", (run / "results.json").string());
  }
  return json.at("test_acc").get<double>();
}

void demo(const Options& options) {
  const fs::path& folder = options.folder;
  if (fs::exists(folder)) {
    if (!options.force) {
      fail(ErrorKind::exists, "{} exists already; --force replaces it, --out names another folder",
           folder.string());
    }
    fs::remove_all(folder);
  }
  fs::create_directories(folder);
  const std::string source = (folder / "papers-bin").string();
  const std::string store = (folder / "papers.plim").string();
  const std::string scale = fmt::format("{}", options.scale);
  // As OGB would ship it; then the import, in less memory than the files take.
  step({"synth", "papers100M", "--scale", scale, "--seed", "1", "--format", "ogb", "--stored",
        "--out", source});
  step({"import", "ogb", source, "--out", store, "--memory", "256M"});
  step({"inspect", store, "--verify"});
  print("\nThe store is in {}. Its files are plain arrays: docs/store-format.md.\n", store);
  if (!launch::has_train_library()) {
    print("Training is left out: this program has no training library (README.md).\n");
    return;
  }
  // What can be learned without the edges, and what they add.
  const fs::path mlp = folder / "mlp";
  const fs::path sage = folder / "sage";
  step({"train", store, "--model", "mlp", "--epochs", "8", "--save-dir", mlp.string()});
  step({"train", store, "--model", "sage", "--epochs", "8", "--save-dir", sage.string()});
  step({"predict", store, "--checkpoint", (sage / "best.pth").string(), "--split", "test", "--out",
        (folder / "predictions.npy").string()});
  print("\nTest accuracy: {:.1f} % without the edges (mlp), {:.1f} % with them (sage).\n",
        100 * test_accuracy(mlp), 100 * test_accuracy(sage));
  print("Checkpoints, which torch.load opens, and results.json are in {} and {}.\n", mlp.string(),
        sage.string());
}

constexpr const char* kFooter =
    R"(Generates a hundredth of ogbn-papers100M as OGB ships it, imports it in less memory than its files
take, inspects the store, trains two models and predicts. Takes about a minute and 1 GB of disk.

Examples:
  plimsoll demo
  plimsoll demo --scale 0.001 --out /tmp/demo)";

}  // namespace

void add_demo(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("demo", "Generate, import, inspect, train and predict: the first minute");
  auto options = std::make_shared<Options>();
  command->add_option("--out", options->folder, "folder for everything that is made")
      ->capture_default_str()
      ->type_name("FOLDER");
  command->add_option("--scale", options->scale, "size of the graph, as a part of papers100M")
      ->check(CLI::Range(1e-5, 1.0))
      ->capture_default_str()
      ->type_name("S");
  command->add_flag("--force", options->force, "replace the folder if it exists");
  command->footer(kFooter);
  command->callback([options] { demo(*options); });
}

}  // namespace plimsoll::cli
