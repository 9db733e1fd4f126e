#include "cli/train_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/child.h"
#include "base/error.h"
#include "cli/arguments.h"
#include "graph/meta.h"
#include "launch/save_folder.h"
#include "launch/training_run.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using recipe::Draw;
using recipe::Evaluation;
using recipe::ModelKind;
using recipe::Norm;
using recipe::Recipe;
using recipe::RecipeField;
using recipe::Schedule;

constexpr const char* kModel = "Model";
constexpr const char* kLearning = "Learning";
constexpr const char* kCheckpoints = "Checkpoints";
constexpr uint64_t kMostColumns = 65536;
constexpr uint64_t kMostEpochs = 1'000'000'000;
constexpr uint64_t kMostSeeds = 1'000;
constexpr uint64_t kMostLayers = 1'000;

constexpr std::array kTrainingLogs = {track::LogKind::tensorboard, track::LogKind::csv,
                                      track::LogKind::jsonl, track::LogKind::prometheus};

struct RecipeOption {
  RecipeField field;
  const char* option;
};
constexpr std::array<RecipeOption, 18> kRecipeOptions = {{
    {RecipeField::model, "--model"},
    {RecipeField::fanout, "--fanout"},
    {RecipeField::hidden, "--hidden"},
    {RecipeField::heads, "--heads"},
    {RecipeField::dropout, "--dropout"},
    {RecipeField::batch_norm, "--batch-norm"},
    {RecipeField::norm, "--norm"},
    {RecipeField::sampler, "--sampler"},
    {RecipeField::batch_size, "--batch-size"},
    {RecipeField::epochs, "--epochs"},
    {RecipeField::lr, "--lr"},
    {RecipeField::weight_decay, "--weight-decay"},
    {RecipeField::schedule, "--schedule"},
    {RecipeField::label_smoothing, "--label-smoothing"},
    {RecipeField::patience, "--patience"},
    {RecipeField::evaluation, "--eval"},
    {RecipeField::log_steps, "--log-steps"},
    {RecipeField::seed, "--seed"},
}};

CLI::Option* add_whole_number(CLI::App& command, const std::string& names, uint64_t& value,
                              std::pair<uint64_t, uint64_t> range, const std::string& description) {
  return command.add_option(names, value, description)
      ->check(whole_number(range.first, range.second))
      ->type_name("N")
      ->capture_default_str();
}

CLI::Option* add_number(CLI::App& command, const std::string& names, double& value,
                        const std::string& description) {
  return command.add_option(names, value, description)->type_name("X")->capture_default_str();
}

// "GCN" and "GraphSAGE" are what papers and classes are called.
std::string spell_model(std::string& word) {
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (word == "graphsage") word = "sage";
  return {};
}

void add_model_options(CLI::App& command, TrainOptions& options) {
  Recipe& recipe = options.recipe;
  add_choice(command, "--model", recipe.model,
             {ModelKind::gcn, ModelKind::sage, ModelKind::gat, ModelKind::mlp},
             "kind of network; mlp ignores the edges and is a baseline")
      ->transform(CLI::Validator(spell_model, ""))
      ->group(kModel);
  // There are as many layers as fan-outs; the option of other scripts is only compared.
  command.add_option(spellings("--num-layers", {"layers"}), options.layers)
      ->check(whole_number(1, kMostLayers))
      ->group("");
  command
      .add_option(spellings("--fanout", {"num-neighbors", "fan-out"}), options.fanout_words,
                  "how many neighbours to draw, one number for each layer: 15,10 trains two layers "
                  "and draws up to 15 neighbours of each training node, then up to 10 of each node "
                  "reached; all or -1 = every neighbour")
      ->type_name("LIST")
      ->default_str(recipe::format_fanout(recipe.fanout))
      ->group(kModel);
  add_whole_number(command, spellings("--hidden", {"hidden-dim", "hidden-channels", "hidden-size"}),
                   recipe.hidden, {1, kMostColumns}, "columns of the hidden layers")
      ->group(kModel);
  add_whole_number(command, spellings("--heads", {"num-heads"}), recipe.heads, {1, kMostColumns},
                   "gat: number of attention heads, which divide the --hidden columns among them")
      ->group(kModel);
  command.add_option("--dropout", recipe.dropout, "share of the values set to 0 in training")
      ->type_name("SHARE")
      ->capture_default_str()
      ->group(kModel);
  command
      .add_flag(spellings("--batch-norm", {"batchnorm"}), recipe.batch_norm,
                "batch norm after every layer except the last")
      ->group(kModel);
  add_choice(command, "--norm", recipe.norm, {Norm::sampled, Norm::full},
             "gcn: normalise by the degrees in the sample, or in the whole graph")
      ->group(kModel);
}

void add_drawing_options(CLI::App& command, Recipe& recipe) {
  add_choice(command, "--sampler", recipe.sampler, {Draw::uniform, Draw::labor},
             "uniform: each node draws its neighbours independently; labor: the nodes of a batch "
             "prefer the same neighbours, so that fewer rows are read")
      ->group(kLearning);
}

void add_learning_options(CLI::App& command, TrainOptions& options) {
  Recipe& recipe = options.recipe;
  add_whole_number(command, spellings("--epochs", {"num-epochs"}), recipe.epochs, {1, kMostEpochs},
                   "passes over the training nodes")
      ->group(kLearning);
  add_whole_number(command, spellings("--batch-size"), recipe.batch_size, {1, graph::kMostNodes},
                   "training nodes per step")
      ->group(kLearning);
  add_number(command, spellings("--lr", {"learning-rate"}), recipe.lr, "learning rate of Adam")
      ->group(kLearning);
  add_number(command, spellings("--weight-decay", {"wd"}), recipe.weight_decay,
             "L2 penalty, added to the gradient as torch's Adam does")
      ->group(kLearning);
  add_choice(command, "--schedule", recipe.schedule,
             {Schedule::constant, Schedule::cosine, Schedule::plateau},
             "learning rate over time: constant, falling to 0 along a cosine, or lowered when the "
             "validation accuracy no longer improves")
      ->group(kLearning);
  command
      .add_option(spellings("--label-smoothing"), recipe.label_smoothing,
                  "share of the target that is spread over all classes")
      ->type_name("SHARE")
      ->capture_default_str()
      ->group(kLearning);
  add_whole_number(command, spellings("--log-steps", {"eval-steps", "eval-every"}),
                   recipe.log_steps, {1, kMostEpochs}, "evaluate after every N epochs")
      ->group(kLearning);
  add_choice(
      command, "--eval", recipe.evaluation, {Evaluation::sampled, Evaluation::full},
      "sampled: evaluate with the fan-out of the training; full: with all neighbours, layer by "
      "layer")
      ->group(kLearning);
  add_whole_number(command, spellings("--patience", {"early-stopping"}), recipe.patience,
                   {0, kMostEpochs}, "stop after N evaluations without an improvement; 0 = never")
      ->group(kLearning);
  add_whole_number(command, "--seed", recipe.seed, {0, std::numeric_limits<uint64_t>::max()},
                   "random seed; the same seed gives the same model")
      ->group(kLearning);
}

void add_checkpoint_options(CLI::App& command, TrainOptions& options) {
  command
      .add_option(spellings("--save-dir"), options.save_dir,
                  "folder for last.pth, best.pth and results.json")
      ->type_name("FOLDER")
      ->default_str(options.save_dir.string())
      ->group(kCheckpoints);
  command
      .add_option("--resume", options.resume,
                  "continue the run in this folder, its --save-dir; auto: continue the run in "
                  "--save-dir if there is one, otherwise start it")
      ->type_name("FOLDER")
      ->group(kCheckpoints);
  command
      .add_flag("--force", options.force,
                "start a new run even if --save-dir holds one, which is deleted")
      ->group(kCheckpoints);
  add_whole_number(command, spellings("--save-every"), options.save_every, {0, kMostEpochs},
                   "also write epoch_NNN.pth after every N epochs; 0 = never")
      ->group(kCheckpoints);
  add_number(
      command, spellings("--checkpoint-minutes"), options.checkpoint_minutes,
      "within an epoch, write last.pth every X minutes; a kill -9 loses at most this much work")
      ->group(kCheckpoints);
}

// CLI11 reads `--num_neighbors 15 10 STORE` as one list, because it cannot tell where the list
// ends. So the word after the numbers is taken as the store.
void take_fanout(TrainOptions& options) {
  const auto refuse = [](const std::string& word) {
    fail(ErrorKind::usage,
         "--fanout: '{}' is not a fan-out; write it like 15,10 or all: for each layer a number "
         "from 1 up, or all",
         word);
  };
  const std::vector<std::string>& words = options.fanout_words;
  if (words.empty()) return;
  options.recipe.fanout.clear();
  size_t next = 0;
  for (; next < words.size(); ++next) {
    const auto fanout = recipe::parse_fanout(words[next]);
    if (!fanout) break;
    options.recipe.fanout.insert(options.recipe.fanout.end(), fanout->begin(), fanout->end());
  }
  if (next == words.size()) return;
  const bool looks_like_the_store =
      next > 0 && next + 1 == words.size() && options.store.empty() && options.data_root.empty();
  if (!looks_like_the_store) refuse(words[next]);
  options.store = words[next];
}

void check_layers(const TrainOptions& options) {
  const std::vector<uint32_t>& fanout = options.recipe.fanout;
  if (!options.layers) return;
  if (!options.resume.empty() && options.resume != kAutoResume) {
    fail(ErrorKind::usage, "--num-layers: a resumed run keeps its layers; leave it out");
  }
  if (*options.layers == fanout.size()) return;
  std::vector<uint32_t> meant(*options.layers, fanout.back());
  std::copy_n(fanout.begin(), std::min(fanout.size(), meant.size()), meant.begin());
  fail(ErrorKind::usage,
       "--num-layers {}: there are as many layers as --fanout has numbers, {} in {}; give --fanout "
       "{}",
       *options.layers, fanout.size(), recipe::format_fanout(fanout), recipe::format_fanout(meant));
}

// The options that a command to continue the run must repeat; the checkpoint keeps the recipe.
std::string repeated_options(const CLI::App& command, const TrainOptions& options) {
  std::string text;
  for (const char* name :
       {"--save-every", "--checkpoint-minutes", "--device", "--workers", "--window", "--threads",
        "--memory", "--ranks", "--rank-timeout", "--log"}) {
    const auto values = command.get_option(name)->results();
    if (!values.empty()) text += fmt::format(" {} {}", name, shell_word(values.back()));
  }
  if (options.running.verify) text += " --verify";
  return text + (options.running.run.quiet ? " --quiet" : "");
}

void check_folders(const CLI::App& command, TrainOptions& options) {
  if (!options.store.empty() && !options.data_root.empty()) {
    fail(ErrorKind::usage, "give either the store {} or --data_root {}", options.store.string(),
         options.data_root.string());
  }
  if (options.store.empty() && options.data_root.empty()) {
    if (!options.resume.empty() && options.resume != kAutoResume) {
      if (options.seeds == 0) launch::check_resumable(options.resume);
      fail(ErrorKind::usage,
           "STORE is missing; name the store as well: plimsoll train STORE --resume {}",
           shell_word(options.resume.string()));
    }
    fail(ErrorKind::usage, "STORE is missing; name the folder of a store, or the --data_root");
  }
  if (options.save_dir.empty()) fail(ErrorKind::usage, "--save-dir is empty; name a folder");
  if (command.count("--resume") == 0) return;
  if (options.resume.empty()) fail(ErrorKind::usage, "--resume is empty; name the run's folder");
  if (options.force) {
    fail(ErrorKind::usage, "--resume continues a run, --force starts a new one; give one of them");
  }
  if (options.resume == kAutoResume) {
    // Each seed has a folder of its own.
    const bool begun = options.seeds > 0 || launch::holds_a_run(options.save_dir);
    options.resume = begun ? options.save_dir : fs::path();
    return;
  }
  std::error_code missing;
  const bool same = options.save_dir == options.resume ||
                    fs::equivalent(options.save_dir, options.resume, missing);
  if (command.count("--save-dir") > 0 && !same) {
    fail(ErrorKind::usage, "--resume {} continues in that folder; leave --save-dir {} out",
         options.resume.string(), options.save_dir.string());
  }
  options.save_dir = options.resume;
}

}  // namespace

void add_recipe_options(CLI::App& command, TrainOptions& options) {
  add_model_options(command, options);
  add_learning_options(command, options);
  add_drawing_options(command, options.recipe);
}

void add_train_options(CLI::App& command, TrainOptions& options) {
  command.add_option("STORE", options.store, "folder of the store to train on");
  command
      .add_option(spellings("--data-root"), options.data_root,
                  "instead of STORE: the folder of an OGB data set, which is imported at first use")
      ->type_name("FOLDER");
  add_recipe_options(command, options);
  // Only here, not in the recipe: each of these trainings has a recipe of its own.
  command
      .add_option("--seeds", options.seeds,
                  "train N times, with the seeds from --seed on, each in a folder seed_N of "
                  "--save-dir; then show mean and standard deviation")
      ->check(whole_number(1, kMostSeeds))
      ->type_name("N")
      ->group(kLearning);
  add_checkpoint_options(command, options);
  add_running_options(command, options.running);
  command
      .add_option(spellings("--memory-log"), options.memory_log,
                  "write the memory use over time to this .csv file")
      ->type_name("FILE")
      ->group(kResources);
  command
      .add_option_function<std::string>(
          "--log",
          [&options](const std::string& text) {
            options.logs = track::parse_logs(text, kTrainingLogs);
          },
          "also write the figures of every epoch to --save-dir, for other tools: a list of "
          "tensorboard, csv, jsonl and prometheus (docs/guides/logs.md)")
      ->type_name("LIST")
      ->group(kOutput);
  command.get_option("--quiet")->description(
      "print one line per epoch and nothing else; with --seeds also a last line with the mean");
  command
      .add_flag("-v,--verbose", options.running.run.verbose,
                "at the end also show what happened inside: stages, reads, parts of the memory")
      ->excludes("--quiet")
      ->group(kOutput);
}

void complete_recipe(const CLI::App& command, TrainOptions& options) {
  for (const RecipeOption& one : kRecipeOptions) {
    if (command.count(one.option) > 0) options.given.insert(one.field);
  }
  take_fanout(options);
  check_layers(options);
}

void complete(const CLI::App& command, TrainOptions& options) {
  complete_recipe(command, options);
  check_folders(command, options);
  options.repeated_options = repeated_options(command, options);
  if (!(options.checkpoint_minutes > 0 && std::isfinite(options.checkpoint_minutes))) {
    fail(ErrorKind::usage, "--checkpoint-minutes {}: more than 0", options.checkpoint_minutes);
  }
  if (options.seeds > 0 && options.recipe.seed > UINT64_MAX - options.seeds) {
    fail(ErrorKind::usage, "--seed {} and {} more: seeds have 64 bits", options.recipe.seed,
         options.seeds - 1);
  }
  if (options.seeds > 0 && !options.memory_log.empty()) {
    fail(ErrorKind::usage,
         "--memory-log is for a single training; leave --memory-log or --seeds out");
  }
  if (!options.resume.empty() && options.seeds == 0) return;  // the recipe is the checkpoint's
  check(options.recipe);
  launch::check_for_model(options.recipe, options.given);
}

std::string train_command_line(const CLI::App& command, const TrainOptions& options,
                               const std::string& memory) {
  std::string text = "plimsoll train " + shell_word(options.store.string());
  const auto value_of = [&](const RecipeOption& one) -> std::string {
    if (one.field == RecipeField::fanout) return recipe::format_fanout(options.recipe.fanout);
    if (one.field == RecipeField::batch_size) return fmt::format("{}", options.recipe.batch_size);
    return command.get_option(one.option)->results().back();
  };
  for (const RecipeOption& one : kRecipeOptions) {
    if (!options.given.contains(one.field)) continue;
    text += fmt::format(" {}", one.option);
    if (one.field != RecipeField::batch_norm) text += " " + shell_word(value_of(one));
  }
  for (const char* name : {"--device", "--threads", "--window", "--ranks"}) {
    const auto values = command.get_option(name)->results();
    if (!values.empty()) text += fmt::format(" {} {}", name, shell_word(values.back()));
  }
  const unsigned workers = options.running.run.workers;
  if (workers > 0) text += fmt::format(" --workers {}", workers);
  return text + (memory.empty() ? "" : " --memory " + shell_word(memory));
}

}  // namespace plimsoll::cli
