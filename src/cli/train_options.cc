#include "cli/train_options.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/shell_word.h"
#include "cli/arguments.h"
#include "launch/save_folder.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using recipe::Recipe;

constexpr const char* kModel = "Model";
constexpr const char* kLearning = "Learning";
constexpr const char* kCheckpoints = "Checkpoints";
constexpr const char* kAutoResume = "auto";
constexpr uint64_t kMostColumns = 65536;
constexpr uint64_t kMostNodes = 0xffffffff;
constexpr uint64_t kMostEpochs = 1'000'000'000;
constexpr uint64_t kMostSeeds = 1'000;

struct RecipeOption {
  const char* field;
  const char* option;
};
constexpr std::array<RecipeOption, 18> kRecipeOptions = {{
    {"model", "--model"},
    {"fanout", "--fanout"},
    {"hidden", "--hidden"},
    {"heads", "--heads"},
    {"dropout", "--dropout"},
    {"batch_norm", "--batch-norm"},
    {"norm", "--norm"},
    {"sampler", "--sampler"},
    {"batch_size", "--batch-size"},
    {"epochs", "--epochs"},
    {"lr", "--lr"},
    {"weight_decay", "--weight-decay"},
    {"schedule", "--schedule"},
    {"label_smoothing", "--label-smoothing"},
    {"patience", "--patience"},
    {"evaluation", "--eval"},
    {"log_steps", "--log-steps"},
    {"seed", "--seed"},
}};

// An option whose value is one of a few words, kept as an enum.
template <typename Enum>
CLI::Option* add_choice(CLI::App& command, const std::string& names, Enum& value,
                        const std::vector<std::string>& words, Enum (*parse)(std::string_view),
                        const std::string& description) {
  return command
      .add_option_function<std::string>(
          names, [&value, parse](const std::string& word) { value = parse(word); }, description)
      ->check(CLI::IsMember(words))
      ->default_str(std::string(name(value)));
}

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

void add_model_options(CLI::App& command, TrainOptions& options) {
  Recipe& recipe = options.recipe;
  add_choice(command, "--model", recipe.model, {"gcn", "sage", "gat", "mlp"}, recipe::parse_model,
             "kind of network; mlp ignores the edges and is a baseline")
      ->group(kModel);
  command
      .add_option("--fanout,--num_neighbors", options.fanout_words,
                  "how many neighbours to draw, one number for each layer: 15,10 trains two layers "
                  "and draws up to 15 neighbours of each training node, then up to 10 of each node "
                  "reached; all or -1 = every neighbour")
      ->type_name("LIST")
      ->default_str(recipe::format_fanout(recipe.fanout))
      ->group(kModel);
  add_whole_number(command, "--hidden,--hidden_dim", recipe.hidden, {1, kMostColumns},
                   "columns of the hidden layers")
      ->group(kModel);
  add_whole_number(command, "--heads", recipe.heads, {1, kMostColumns},
                   "gat: number of attention heads, which divide the --hidden columns among them")
      ->group(kModel);
  command.add_option("--dropout", recipe.dropout, "share of the values set to 0 in training")
      ->type_name("SHARE")
      ->capture_default_str()
      ->group(kModel);
  command
      .add_flag("--batch-norm", recipe.batch_norm, "batch norm after every layer except the last")
      ->group(kModel);
  add_choice(command, "--norm", recipe.norm, {"sampled", "full"}, recipe::parse_norm,
             "gcn: normalise by the degrees in the sample, or in the whole graph")
      ->group(kModel);
}

void add_drawing_options(CLI::App& command, Recipe& recipe) {
  add_choice(command, "--sampler", recipe.sampler, {"uniform", "labor"}, recipe::parse_draw,
             "uniform: each node draws its neighbours independently; labor: the nodes of a batch "
             "prefer the same neighbours, so that fewer rows are read")
      ->group(kLearning);
}

void add_learning_options(CLI::App& command, TrainOptions& options) {
  Recipe& recipe = options.recipe;
  add_whole_number(command, "--epochs", recipe.epochs, {1, kMostEpochs},
                   "passes over the training nodes")
      ->group(kLearning);
  add_whole_number(command, "--batch-size,--batch_size", recipe.batch_size, {1, kMostNodes},
                   "training nodes per step")
      ->group(kLearning);
  add_number(command, "--lr", recipe.lr, "learning rate of Adam")->group(kLearning);
  add_number(command, "--weight-decay,--weight_decay", recipe.weight_decay,
             "L2 penalty, added to the gradient as torch's Adam does")
      ->group(kLearning);
  add_choice(command, "--schedule", recipe.schedule, {"constant", "cosine", "plateau"},
             recipe::parse_schedule,
             "learning rate over time: constant, falling to 0 along a cosine, or lowered when the "
             "validation accuracy no longer improves")
      ->group(kLearning);
  command
      .add_option("--label-smoothing", recipe.label_smoothing,
                  "share of the target that is spread over all classes")
      ->type_name("SHARE")
      ->capture_default_str()
      ->group(kLearning);
  add_whole_number(command, "--log-steps,--log_steps", recipe.log_steps, {1, kMostEpochs},
                   "evaluate after every N epochs")
      ->group(kLearning);
  add_choice(
      command, "--eval", recipe.evaluation, {"sampled", "full"}, recipe::parse_evaluation,
      "sampled: evaluate with the fan-out of the training; full: with all neighbours, layer by "
      "layer")
      ->group(kLearning);
  add_whole_number(command, "--patience", recipe.patience, {0, kMostEpochs},
                   "stop after N evaluations without an improvement; 0 = never")
      ->group(kLearning);
  add_whole_number(command, "--seed", recipe.seed, {0, std::numeric_limits<uint64_t>::max()},
                   "random seed; the same seed gives the same model")
      ->group(kLearning);
}

void add_checkpoint_options(CLI::App& command, TrainOptions& options) {
  command
      .add_option("--save-dir,--save_dir", options.save_dir,
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
  add_whole_number(command, "--save-every", options.save_every, {0, kMostEpochs},
                   "also write epoch_NNN.pth after every N epochs; 0 = never")
      ->group(kCheckpoints);
  add_number(
      command, "--checkpoint-minutes", options.checkpoint_minutes,
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
      .add_option("--data-root,--data_root", options.data_root,
                  "instead of STORE: the folder of an OGB data set, which is imported at first use")
      ->type_name("FOLDER");
  add_recipe_options(command, options);
  // Only here, not in the recipe: each of these trainings has a recipe of its own.
  command
      .add_option("--seeds", options.seeds,
                  "train N times, with the seeds from --seed on, each in a folder seed_N of "
                  "--save-dir; then show mean and standard deviation")
      ->check(whole_number(2, kMostSeeds))
      ->type_name("N")
      ->group(kLearning);
  add_checkpoint_options(command, options);
  add_running_options(command, options.running);
  command
      .add_option("--memory-log", options.memory_log,
                  "write the memory use over time to this .csv file")
      ->type_name("FILE")
      ->group(kResources);
  command.get_option("--quiet")->description("show no progress bars, only one line per epoch");
}

void complete_recipe(const CLI::App& command, TrainOptions& options) {
  for (const RecipeOption& one : kRecipeOptions) {
    if (command.count(one.option) > 0) options.given.insert(one.field);
  }
  take_fanout(options);
}

void complete(const CLI::App& command, TrainOptions& options) {
  complete_recipe(command, options);
  check_folders(command, options);
  if (!(options.checkpoint_minutes > 0 && std::isfinite(options.checkpoint_minutes))) {
    fail(ErrorKind::usage, "--checkpoint-minutes {}: more than 0", options.checkpoint_minutes);
  }
  if (options.seeds > 0 && options.recipe.seed > UINT64_MAX - options.seeds) {
    fail(ErrorKind::usage, "--seed {} and {} more: seeds have 64 bits", options.recipe.seed,
         options.seeds - 1);
  }
  if (options.seeds > 0 && !options.memory_log.empty()) {
    fail(ErrorKind::usage, "--memory-log is for one training; leave it or --seeds out");
  }
  if (!options.resume.empty() && options.seeds == 0) return;  // the recipe is the checkpoint's
  check(options.recipe);
  check_for_model(options.recipe, options.given);
}

void check_for_model(const Recipe& recipe, const std::set<std::string>& given) {
  if (given.contains("heads") && recipe.model != recipe::ModelKind::gat) {
    fail(ErrorKind::usage, "--heads goes with --model gat; {} has none", name(recipe.model));
  }
  if (given.contains("norm") && recipe.model != recipe::ModelKind::gcn) {
    fail(ErrorKind::usage, "--norm goes with --model gcn; {} has none", name(recipe.model));
  }
  if (given.contains("sampler") && recipe.model == recipe::ModelKind::mlp) {
    fail(ErrorKind::usage, "--sampler goes with models that draw neighbours; mlp does not");
  }
}

std::string training_command(const CLI::App& command, const TrainOptions& options,
                             const std::string& memory) {
  std::string text = "plimsoll train " + shell_word(options.store.string());
  const auto value_of = [&](const RecipeOption& one) -> std::string {
    const std::string_view field = one.field;
    if (field == "fanout") return recipe::format_fanout(options.recipe.fanout);
    if (field == "batch_size") return fmt::format("{}", options.recipe.batch_size);
    return command.get_option(one.option)->results().back();
  };
  for (const RecipeOption& one : kRecipeOptions) {
    if (!options.given.contains(one.field)) continue;
    text += fmt::format(" {}", one.option);
    if (one.field != std::string_view("batch_norm")) text += " " + shell_word(value_of(one));
  }
  for (const char* name : {"--device", "--threads", "--window", "--ranks"}) {
    const auto values = command.get_option(name)->results();
    if (!values.empty()) text += fmt::format(" {} {}", name, shell_word(values.back()));
  }
  const unsigned workers = options.running.run.workers;
  if (workers > 0) text += fmt::format(" --workers {}", workers);
  return text + (memory.empty() ? "" : " --memory " + shell_word(memory));
}

std::string continuing_command(const CLI::App& command, const TrainOptions& options) {
  std::string text =
      fmt::format("plimsoll train {} --resume {}", shell_word(options.store.string()),
                  shell_word(options.save_dir.string()));
  for (const char* name : {"--save-every", "--checkpoint-minutes", "--device", "--workers",
                           "--window", "--threads", "--memory", "--ranks", "--rank-timeout"}) {
    const auto values = command.get_option(name)->results();
    if (!values.empty()) text += fmt::format(" {} {}", name, shell_word(values.back()));
  }
  if (options.running.verify) text += " --verify";
  return text + (options.running.run.quiet ? " --quiet" : "");
}

}  // namespace plimsoll::cli
