// plimsoll demo: the main job on a synthetic graph. Runs this program's own commands one after the
// other, as a user would, and shows each of them.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/child.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/print.h"
#include "base/run_files.h"
#include "base/terminal.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "launch/demo_folder.h"
#include "launch/own_program.h"
#include "launch/train_module.h"
#include "launch/training_record.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

struct DemoOptions {
  fs::path folder = "demo";
  double scale = 0.01;
  bool force = false;
};

void step(const std::vector<std::string>& words) {
  const bool bold = shows_colours(STDOUT_FILENO);
  std::string line;
  for (const std::string& word : words) line += " " + shell_word(word);
  print("\n");
  fmt::print("{}$ plimsoll{}{}\n", bold ? "\033[1m" : "", line, bold ? "\033[0m" : "");
  std::fflush(stdout);
  std::vector<std::string> command = {"plimsoll"};
  command.insert(command.end(), words.begin(), words.end());
  const int code = launch::run_own_program(command);
  throw_if_interrupted();
  if (code != 0) throw ExitWith{code};
}

double test_accuracy(const fs::path& run) {
  return launch::read_training(run).test_accuracy.value_or(0);
}

void demo(const DemoOptions& options) {
  launch::make_demo_folder(options.folder, options.force);
  const fs::path& folder = options.folder;
  const std::string source = (folder / "papers-bin").string();
  const std::string store = (folder / "papers.plim").string();
  const std::string scale = fmt::format("{}", options.scale);
  // As OGB would ship it; then the import, in less memory than the files take.
  step({"synth", "papers100M", "--scale", scale, "--seed", "1", "--format", "ogb", "--stored",
        "--out", source});
  step({"import", "ogb", source, "--out", store, "--memory", "256M"});
  step({"inspect", store, "--verify"});
  print("\nThe store is in {}. Its files are plain arrays: docs/reference/store-format.md.\n",
        store);
  if (!launch::has_train_library()) {
    print(
        "Training is left out: this program has no training library. `plimsoll torch build` "
        "compiles it for the torch of your Python.\n");
    return;
  }
  // What can be learned without the edges, and what they add.
  const fs::path mlp = folder / "mlp";
  const fs::path sage = folder / "sage";
  step({"train", store, "--model", "mlp", "--epochs", "8", "--save-dir", mlp.string()});
  step({"train", store, "--model", "sage", "--epochs", "8", "--save-dir", sage.string()});
  step({"predict", store, "--checkpoint", (sage / kBestCheckpoint).string(), "--split", "test",
        "--out", (folder / "predictions.npy").string()});
  print("\nTest accuracy: {:.1f} % without the edges (mlp), {:.1f} % with them (sage).\n",
        100 * test_accuracy(mlp), 100 * test_accuracy(sage));
  print("Checkpoints, which torch.load opens, and results.json are in {} and {}.\n", mlp.string(),
        sage.string());
}

constexpr const char* kDemoFooter =
    R"(Generates a hundredth of ogbn-papers100M as OGB ships it, imports it in less memory than its files
take, inspects the store, trains two models and predicts. Takes about a minute and 1 GB of disk.

Examples:
  plimsoll demo
  plimsoll demo --scale 0.001 --out /tmp/demo)";

}  // namespace

void add_demo(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("demo", "Generate, import, inspect, train and predict: the first minute");
  auto options = std::make_shared<DemoOptions>();
  command->add_option("--out", options->folder, "folder for everything that is made")
      ->capture_default_str()
      ->type_name("FOLDER");
  command->add_option("--scale", options->scale, "size of the graph, as a part of papers100M")
      ->check(CLI::Range(1e-5, 1.0))
      ->capture_default_str()
      ->type_name("S");
  command->add_flag("--force", options->force, "replace the folder if it exists");
  command->footer(kDemoFooter);
  command->callback([options] { demo(*options); });
}

}  // namespace plimsoll::cli
