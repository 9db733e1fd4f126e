// plimsoll predict: writes the classes, logits or embeddings of nodes, from a trained model, to a
// NumPy file.
#include <memory>
#include <optional>
#include <string>

#include "base/host.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "formats/data_root.h"
#include "launch/planning.h"
#include "launch/prediction_run.h"
#include "launch/rank_steps.h"
#include "launch/training_device.h"
#include "memory/limit.h"
#include "ranks/rank_place.h"

namespace plimsoll::cli {
namespace {

using launch::PredictRequest;

void predict_alone(const PredictRequest& request) {
  launch::check_files(request);
  const graph::Store store = formats::open_store(request.store);
  launch::count_nodes(request, store);
  const memory::Limit limit = launch::training_limit(request.running.memory_bytes);
  const recipe::Recipe recipe = launch::read_recipe(request, store);
  launch::verify_if_asked(store, request.running);
  launch::choose_gpu(request.running.gpu);
  const plan::Plan plan = launch::plan_for(request, recipe, {store, limit.bytes, gpu_facts()});
  launch::say_opening(request, store, limit);
  memory::Ledger ledger(limit.bytes - plan::headroom_bytes(limit.bytes));
  launch::run_prediction(request, {store, plan, recipe.evaluation, ledger});
}

// Predicts as one of several ranks. Rank 0 writes the output; the others send it what they have
// computed.
void predict_with(ranks::Group& group, const PredictRequest& request) {
  std::optional<graph::Store> store;
  recipe::Recipe recipe;
  launch::together(group, [&] {
    if (group.first()) launch::check_files(request);
    store = formats::open_store(request.store);
    launch::count_nodes(request, *store);
    recipe = launch::read_recipe(request, *store);
    launch::check_prediction_for_ranks(recipe, group.place().size);
    if (group.leads_host()) launch::verify_if_asked(*store, request.running);
  });
  memory::Limit limit = launch::training_limit(request.running.memory_bytes);
  launch::choose_gpu(request.running.gpu);
  const plan::Plan plan = launch::plan_together(group, limit.bytes, [&] {
    return launch::plan_for(request, recipe, {*store, limit.bytes, gpu_facts(), &group});
  });
  launch::say_opening(request, *store, limit);
  launch::say(request.running, "ranks", launch::describe_ranks(group));
  memory::Ledger ledger(launch::ledger_bytes_for(request, *store, recipe, plan, group));
  launch::run_prediction(request, {*store, plan, recipe.evaluation, ledger, &group});
  group.leave();
}

void predict(PredictRequest& request) {
  launch::check_gpu(request.running.gpu);
  const ranks::RankPlace place = ranks::find_place(Host::real().variable, request.running.ranks);
  if (place.source == ranks::RankSource::none) return predict_alone(request);
  if (place.source == ranks::RankSource::option) {
    launch::check_files(request);
    launch::count_nodes(request, formats::open_store(request.store));
    launch::launch_ranks("predict", place.size);
  }
  const auto group = launch::join(request.running, place);
  launch::end_together(
      *group, [] { return std::string("run the command again"); },
      [&] {
        predict_with(*group, request);
        return 0;
      });
}

constexpr const char* kPredictFooter =
    R"(The output has one row for each node, in ascending order of the original ids: its class, or one
column for each value.

Examples:
  plimsoll predict papers.plim --checkpoint models/best.pth --split test --out predictions.npy
  plimsoll predict papers.plim --checkpoint models/best.pth --split all --embeddings --out x.npy)";

void add_output_options(CLI::App& command, PredictRequest& request) {
  command.add_option("--out", request.out, "the .npy file to write")
      ->required()
      ->type_name("FILE")
      ->group(kOutput);
  command
      .add_option("--ids", request.ids_out,
                  "also write the original node ids of the rows to this .npy file")
      ->type_name("FILE")
      ->group(kOutput);
  CLI::Option* logits = command
                            .add_flag_callback(
                                "--logits", [&request] { request.output = train::Output::logits; },
                                "write the scores of all classes, before softmax")
                            ->group(kOutput);
  command
      .add_flag_callback(
          "--embeddings", [&request] { request.output = train::Output::embeddings; },
          "write the input of the last layer instead: --hidden columns per node")
      ->excludes(logits)
      ->group(kOutput);
  command.add_flag("--force", request.force, "replace existing files")->group(kOutput);
}

}  // namespace

void add_predict(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("predict", "Predict classes for nodes with a trained model");
  auto options = std::make_shared<PredictRequest>();
  command->add_option("STORE", options->store, "folder of the store")->required();
  command
      ->add_option("--checkpoint", options->checkpoint,
                   "the trained model, such as models/best.pth")
      ->required()
      ->type_name("FILE");
  using train::PredictedNodes;
  add_choice(
      *command, "--split", options->split,
      {PredictedNodes::train, PredictedNodes::valid, PredictedNodes::test, PredictedNodes::all},
      "the nodes to predict");
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
  command->footer(kPredictFooter);
  command->callback([options] { predict(*options); });
}

}  // namespace plimsoll::cli
