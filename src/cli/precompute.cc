// plimsoll precompute: makes a store whose rows are the sums of a model's first layer, so that
// batches need one hop less.
#include "batch/precompute.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "formats/data_root.h"
#include "graph/store.h"
#include "plan/plan.h"

namespace plimsoll::cli {
namespace {

struct PrecomputeOptions {
  std::string store;
  graph::FirstLayer model = graph::FirstLayer::sage;
  std::optional<graph::FeatureType> type;  // nothing: as in the store
  bool verify = false;
  ingest::MakingOptions making;
};

void precompute(const PrecomputeOptions& options) {
  const graph::Store store = formats::open_store(options.store);
  ingest::Making making(options.making);
  const memory::Lease headroom =
      making.ledger().lease("headroom", plan::headroom_bytes(making.limit().bytes));
  making.headline(fmt::format(
      "summing neighbours of {} for {}'s first layer: {}, {}", options.store, name(options.model),
      counted(store.meta().nodes, "node"), counted(store.meta().edges, "edge")));
  making.say("memory", describe(making.limit()));
  if (options.verify) {
    making.say("verified", formats::verify_store(store, making.ledger(), making.progress()));
  }
  const graph::Meta meta = batch::precompute(store,
                                             {.model = options.model,
                                              .type = options.type,
                                              .out = options.making.out,
                                              .replace = options.making.force,
                                              .threads = options.making.threads},
                                             making.ledger(), making.progress());
  making.progress().finish_step();
  making.summarize(
      fmt::format("{}, {} per row", counted(meta.nodes, "node"), counted(meta.row_bytes, "byte")),
      {{"nodes", meta.nodes},
       {"edges", meta.edges},
       {"first_layer", name(meta.first_layer)},
       {"feature_type", name(meta.feature_type)},
       {"row_bytes", meta.row_bytes}});
}

}  // namespace

void add_precompute(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "precompute", "Compute the first layer's sums once, so that batches need one hop less");
  auto options = std::make_shared<PrecomputeOptions>();
  command->add_option("STORE", options->store, "folder of the store")->required();
  add_choice(*command, "--model", options->model, {graph::FirstLayer::gcn, graph::FirstLayer::sage},
             "the model to train on the new store; gcn weighs neighbours by degree, sage takes "
             "their mean and keeps the node's own features");
  command
      ->add_option_function<std::string>(
          "--feature-type",
          [options = options.get()](const std::string& word) {
            options->type = word == "f32" ? graph::FeatureType::f32 : graph::FeatureType::f16;
          },
          "type of the stored sums: f16, or f32 for sums beyond 65504")
      ->check(CLI::IsMember({"f16", "f32"}))
      ->default_str("as in STORE");
  command->add_flag("--verify", options->verify,
                    "first read every file of the store and compare its checksum");
  add_store_options(*command, options->making);
  command->footer(
      R"(The new store shares all files except the features with the old one, if both are on the same disk.
Train on it with all neighbours in the first layer, which is the last number of --fanout.
docs/reference/accuracy.md has the effect on accuracy.

Examples:
  plimsoll precompute papers.plim --model sage --out papers-sage.plim
  plimsoll train papers-sage.plim --model sage --fanout 10,10,all)");
  command->callback([options] { precompute(*options); });
}

}  // namespace plimsoll::cli
