// A store that exists only as figures: hot first, with long lists in front, and draws from it as
// the sampler would make them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "plan/plan.h"
#include "plan/probe.h"
#include "plan/question.h"

namespace plimsoll::plan {

inline StoreShape made_up_store(uint64_t nodes, uint64_t edges) {
  StoreShape store{.nodes = nodes,
                   .edges = edges,
                   .row_bytes = 256,
                   .columns = 128,
                   .classes = 172,
                   .train_nodes = nodes / 90,
                   .evaluated_nodes = nodes / 300,
                   .marks = {{0, 0}}};
  for (double place = 1; place < static_cast<double>(nodes); place *= 1.05) {
    const auto node = static_cast<uint64_t>(place);
    if (node <= store.marks.back().node) continue;
    const double share = std::sqrt(static_cast<double>(node) / static_cast<double>(nodes));
    store.marks.push_back({node, static_cast<uint64_t>(share * static_cast<double>(edges))});
  }
  store.marks.push_back({nodes, edges});
  return store;
}

// As draw() would: every node draws its fan-out of neighbours, the hot ones far more often.
inline Draws made_up_draws(const StoreShape& store, const std::vector<uint32_t>& fanout,
                           uint64_t seeds) {
  Draws draws{.seeds = seeds};
  std::unordered_map<uint32_t, uint32_t> number;
  const auto meet = [&](uint32_t node) {
    const auto [entry, is_new] = number.emplace(node, draws.nodes.size());
    if (is_new) draws.nodes.push_back(node);
    return entry->second;
  };
  const uint64_t stride = store.nodes / store.train_nodes;
  for (uint64_t i = 0; i < seeds; ++i) {
    meet(static_cast<uint32_t>(mix64(i) % store.train_nodes * stride));
  }
  draws.seeds = draws.nodes.size();
  for (size_t hop = 0; hop < fanout.size(); ++hop) {
    Draws::Hop drawn{.destinations = static_cast<uint32_t>(draws.nodes.size()), .offsets = {0}};
    draws.degrees.assign(drawn.destinations, 100);
    for (uint32_t i = 0; i < drawn.destinations; ++i) {
      const RandomStream random(draws.nodes[i], hop);
      for (uint32_t pick = 0; pick < std::min(fanout[hop], 40U); ++pick) {
        const double u = static_cast<double>(random.at(pick) >> 11) * 0x1p-53;
        const double place = u * u * u * static_cast<double>(store.nodes);
        drawn.indices.push_back(meet(static_cast<uint32_t>(place)));
      }
      drawn.offsets.push_back(static_cast<uint32_t>(drawn.indices.size()));
    }
    draws.hops.push_back(std::move(drawn));
  }
  return draws;
}

inline std::vector<uint32_t> drawn_fanout(const recipe::Recipe& recipe) {
  return recipe.model == recipe::ModelKind::mlp ? std::vector<uint32_t>() : recipe.fanout;
}

// Four cores and an SSD.
inline Machine made_up_machine() {
  Machine machine = {.reads_per_second = 150'000,
                     .most_reads_per_second = 250'000,
                     .read_seconds = 1e-4,
                     .read_bytes = 512,
                     .read_bytes_per_second = 2e9,
                     .read_method = "io_uring",
                     .making = {.batch_seconds = 1e-4,
                                .edge_seconds = 4e-8,
                                .row_seconds = 1e-7,
                                .copy_seconds = 1e-7,
                                .sort_seconds = 1e-8},
                     .step = {.narrow_flops = 2e10,
                              .wide_flops = 1e11,
                              .activations = 1e9,
                              .sums = 2e9,
                              .attention = 5e8,
                              .losses = 2e8,
                              .parameters = 1e9,
                              .threads = 2,
                              .product_gain = 1.9,
                              .pass_gain = 1.7,
                              .device = "cpu"},
                     .threads = 4};
  machine.step.fixed.fill({.base = 5e-5, .layer = 3e-5});
  return machine;
}

inline Question made_up_question(const recipe::Recipe& recipe, uint64_t nodes = 10'000'000) {
  Question question{.store = made_up_store(nodes, nodes * 15),
                    .recipe = recipe,
                    .runtime_bytes = 220 * kMiB,
                    .threads = 4,
                    .machine = made_up_machine()};
  question.probe = expect_batch(made_up_draws(question.store, drawn_fanout(recipe), 600),
                                question.store, recipe.batch_size);
  return question;
}

inline Plan plan_within(Question question, uint64_t limit_bytes) {
  question.limit_bytes = limit_bytes;
  return make_plan(question);
}

}  // namespace plimsoll::plan
