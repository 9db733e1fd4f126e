// plimsoll predict: writes the classes, logits or embeddings of nodes, from a trained model, to a
// NumPy file.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/host.h"
#include "base/units.h"
#include "batch/first_layer.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/gpu_facts.h"
#include "cli/ranked.h"
#include "cli/running.h"
#include "formats/data_root.h"
#include "io/file.h"
#include "launch/planning.h"
#include "launch/train_module.h"
#include "memory/index_set.h"
#include "memory/limit.h"
#include "ranks/rank_place.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

// With several ranks, each needs so much to send its rows to rank 0.
constexpr uint64_t kCollectingBytes = 3 * io::kStreamBytes;

struct Options {
  fs::path store;
  fs::path checkpoint;
  std::string split = "test";
  fs::path out;
  fs::path ids_out;
  bool logits = false;
  bool embeddings = false;
  bool force = false;
  std::optional<recipe::Evaluation> evaluation;
  RunningOptions running;
};

train::SplitName parse_split(const std::string& word) {
  if (word == "train") return train::SplitName::train;
  if (word == "valid") return train::SplitName::valid;
  return word == "test" ? train::SplitName::test : train::SplitName::all;
}

train::Output output_of(const Options& options) {
  if (options.logits) return train::Output::logits;
  return options.embeddings ? train::Output::embeddings : train::Output::classes;
}

// A new file takes the place of the old one, so an existing one must be a plain file.
void check_output(const char* option, const fs::path& file, bool force) {
  if (file.empty()) fail(ErrorKind::usage, "{} is empty; name a file", option);
  if (fs::exists(file) && !fs::is_directory(file) && !fs::is_regular_file(file)) {
    fail(ErrorKind::usage, "{} {} is not a regular file; name another one", option, file.string());
  }
  check_writable(option, file, force);
  const fs::path parent = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (access(parent.c_str(), W_OK) != 0) {
    fail(ErrorKind::io, "cannot write {} {}: no permission to write in the folder {}", option,
         file.string(), parent.string());
  }
}

void check_files(const Options& options) {
  if (!fs::exists(options.checkpoint)) {
    fail(ErrorKind::io, "there is no checkpoint {}; plimsoll train writes best.pth and last.pth",
         options.checkpoint.string());
  }
  if (fs::is_directory(options.checkpoint)) {
    fail(ErrorKind::usage, "--checkpoint {} is a folder; give a file in it, such as {}",
         options.checkpoint.string(), (options.checkpoint / "best.pth").string());
  }
  check_output("--out", options.out, options.force);
  if (options.ids_out.empty()) return;
  check_output("--ids", options.ids_out, options.force);
  if (fs::weakly_canonical(options.ids_out) == fs::weakly_canonical(options.out)) {
    fail(ErrorKind::usage, "--out and --ids both name {}; give two different files",
         options.out.string());
  }
}

// The number of rows of the output; Error{input} if there are none.
uint64_t count_nodes(const graph::Store& store, train::SplitName split) {
  const graph::Meta& meta = store.meta();
  const uint64_t nodes =
      split == train::SplitName::all ? meta.nodes : meta.split_sizes.at(static_cast<size_t>(split));
  if (nodes == 0) {
    fail(ErrorKind::input, "{} has no nodes in this split; choose another --split, or all",
         store.folder().string());
  }
  return nodes;
}

// The memory needed to sort the output: the rows, a bit for each id, and buffers of the files.
uint64_t output_bytes(const Options& options, const graph::Store& store, uint64_t nodes,
                      const recipe::Recipe& recipe) {
  return formats::NpyRows::bytes_needed(train::output_options(
             output_of(options), options.out, nodes, {store.meta().classes, recipe.hidden})) +
         memory::IndexSet::bytes_needed(store.meta().nodes) + 2 * io::kStreamBytes;
}

// With all neighbours, or with batches that may be cut.
void check_prediction_for_ranks(const recipe::Recipe& recipe, unsigned ranks) {
  const bool sampled = recipe.evaluation == recipe::Evaluation::sampled;
  if (sampled && recipe.model == recipe::ModelKind::gcn && recipe.norm == recipe::Norm::sampled) {
    fail(
        ErrorKind::usage,
        "a model of --norm sampled counts edges in a whole batch, and each of {} ranks sees only a "
        "part; use --eval full, or one process",
        ranks);
  }
  if (sampled && recipe.batch_size < ranks) {
    fail(ErrorKind::usage, "the model's batches have {} nodes, less than {} ranks; use fewer",
         recipe.batch_size, ranks);
  }
}

recipe::Recipe read_recipe(const Options& options, const graph::Store& store) {
  recipe::Recipe recipe = launch::load_train_module().read_recipe(options.checkpoint);
  recipe.evaluation = options.evaluation.value_or(recipe.evaluation);
  batch::check_first_layer(store, recipe);
  return recipe;
}

plan::Plan plan_for(const Options& options, const graph::Store& store, const recipe::Recipe& recipe,
                    uint64_t limit_bytes, const ranks::Group* group) {
  const train::LaunchOptions& run = options.running.run;
  launch::PlannerOptions planning = {
      .run = run,
      .device = launch::settled_device(run.device, launch::load_train_module().has_gpu(),
                                       launch::training_device(run.device, gpu_facts())),
      .limit_bytes = limit_bytes};
  if (group != nullptr) {
    planning.ranks = group->place().size;
    planning.host_ranks = static_cast<unsigned>(group->host_ranks().size());
  }
  const uint64_t nodes = count_nodes(store, parse_split(options.split));
  uint64_t own_bytes = output_bytes(options, store, nodes, recipe);
  if (group != nullptr) own_bytes += planning.host_ranks * kCollectingBytes;
  return launch::plan_prediction(store, recipe, planning, nodes, own_bytes);
}

void say_opening(const Options& options, const graph::Store& store, const memory::Limit& limit) {
  const uint64_t nodes = count_nodes(store, parse_split(options.split));
  say(options.running, "store", describe(store));
  say(options.running, "model", options.checkpoint.string());
  say(options.running, "nodes", fmt::format("{}, {}", format_count(nodes), options.split));
  say(options.running, "memory", describe(limit));
}

void run_prediction(const Options& options, const graph::Store& store, const plan::Plan& plan,
                    recipe::Evaluation evaluation, memory::Ledger& ledger, ranks::Group* group) {
  launch::load_train_module().predict({.store = store,
                                       .checkpoint = options.checkpoint,
                                       .split = parse_split(options.split),
                                       .output = output_of(options),
                                       .evaluation = evaluation,
                                       .out = options.out,
                                       .ids_out = options.ids_out,
                                       .run = launch::as_planned(options.running.run, plan),
                                       .plan = plan,
                                       .ledger = ledger,
                                       .group = group});
}

void predict_alone(const Options& options) {
  check_files(options);
  const graph::Store store = formats::open_store(options.store);
  count_nodes(store, parse_split(options.split));
  const memory::Limit limit = launch::training_limit(options.running.memory_bytes);
  const recipe::Recipe recipe = read_recipe(options, store);
  verify_if_asked(store, options.running);
  const plan::Plan plan = plan_for(options, store, recipe, limit.bytes, nullptr);
  say_opening(options, store, limit);
  memory::Ledger ledger(limit.bytes - plan::headroom_bytes(limit.bytes));
  run_prediction(options, store, plan, recipe.evaluation, ledger, nullptr);
}

// As one of several ranks. Rank 0 writes the output; the others send it what they have computed.
void predict_with(ranks::Group& group, const Options& options) {
  std::optional<graph::Store> store;
  recipe::Recipe recipe;
  together(group, [&] {
    if (group.first()) check_files(options);
    store = formats::open_store(options.store);
    count_nodes(*store, parse_split(options.split));
    recipe = read_recipe(options, *store);
    check_prediction_for_ranks(recipe, group.place().size);
    if (group.leads_host()) verify_if_asked(*store, options.running);
  });
  memory::Limit limit = launch::training_limit(options.running.memory_bytes);
  limit.bytes = share_number(group, limit.bytes)[group.host_ranks().front()];
  plan::Plan plan;
  for (const bool leaders : {true, false}) {
    together(group, [&] {
      if (group.leads_host() == leaders) {
        plan = plan_for(options, *store, recipe, limit.bytes, &group);
      }
    });
  }
  say_opening(options, *store, limit);
  say(options.running, "ranks", describe_ranks(group));
  const uint64_t nodes = count_nodes(*store, parse_split(options.split));
  memory::Ledger ledger(plan::ledger_bytes(plan) + kCollectingBytes +
                        (group.first() ? output_bytes(options, *store, nodes, recipe) : 0));
  run_prediction(options, *store, plan, recipe.evaluation, ledger, &group);
  group.leave();
}

void predict(const CLI::App& command, Options& options) {
  const ranks::RankPlace place = ranks::find_place(Host::real().variable, options.running.ranks);
  if (place.source == ranks::RankSource::none) return predict_alone(options);
  if (place.source == ranks::RankSource::option) {
    check_files(options);
    count_nodes(formats::open_store(options.store), parse_split(options.split));
    launch_ranks("predict", place.size);
  }
  const auto group = join(command, options.running, place);
  end_together(
      *group, [] { return std::string("run the command again"); },
      [&] {
        predict_with(*group, options);
        return 0;
      });
}

constexpr const char* kFooter =
    R"(The output has one row for each node, in ascending order of the original ids: its class, or one
column for each value.

Examples:
  plimsoll predict papers.plim --checkpoint models/best.pth --split test --out predictions.npy
  plimsoll predict papers.plim --checkpoint models/best.pth --split all --embeddings --out x.npy)";

void add_output_options(CLI::App& command, Options& options) {
  command.add_option("--out", options.out, "the .npy file to write")
      ->required()
      ->type_name("FILE")
      ->group(kOutput);
  command
      .add_option("--ids", options.ids_out,
                  "also write the original node ids of the rows to this .npy file")
      ->type_name("FILE")
      ->group(kOutput);
  CLI::Option* logits =
      command
          .add_flag("--logits", options.logits, "write the scores of all classes, before softmax")
          ->group(kOutput);
  command
      .add_flag("--embeddings", options.embeddings,
                "write the input of the last layer instead: --hidden columns per node")
      ->excludes(logits)
      ->group(kOutput);
  command.add_flag("--force", options.force, "replace existing files")->group(kOutput);
}

}  // namespace

void add_predict(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("predict", "Predict classes for nodes with a trained model");
  auto options = std::make_shared<Options>();
  command->add_option("STORE", options->store, "folder of the store")->required();
  command
      ->add_option("--checkpoint", options->checkpoint,
                   "the trained model, such as models/best.pth")
      ->required()
      ->type_name("FILE");
  command->add_option("--split", options->split, "the nodes to predict")
      ->check(CLI::IsMember({"train", "valid", "test", "all"}))
      ->capture_default_str();
  command
      ->add_option_function<std::string>(
          "--eval",
          [options = options.get()](const std::string& word) {
            options->evaluation = recipe::parse_evaluation(word);
          },
          "sampled: with the fan-out of the training; full: with all neighbours, layer by layer")
      ->check(CLI::IsMember({"sampled", "full"}))
      ->default_str("as in training");
  add_output_options(*command, *options);
  add_running_options(*command, options->running);
  command->footer(kFooter);
  command->callback([command, options] { predict(*command, *options); });
}

}  // namespace plimsoll::cli
