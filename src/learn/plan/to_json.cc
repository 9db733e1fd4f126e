#include "plan/to_json.h"

namespace plimsoll::plan {

using nlohmann::ordered_json;

ordered_json to_json(const Plan& plan) {
  ordered_json parts = ordered_json::object();
  for (const MemoryPart& part : plan.parts) parts[part.name] = part.bytes;
  const Arrangement& arrangement = plan.arrangement;
  return {
      {"fits", plan.fits},
      {"limit_bytes", plan.limit_bytes},
      {"minimum_bytes", plan.minimum_bytes},
      {"peak_bytes", plan.peak_bytes},
      {"parts_bytes", parts},
      {"lines_bytes",
       {{"offsets", arrangement.lines.offsets_bytes},
        {"neighbors", arrangement.lines.neighbors_bytes},
        {"features", arrangement.lines.features_bytes}}},
      {"resident", {{"adjacency", plan.adjacency_resident}, {"features", plan.features_resident}}},
      {"hits",
       {{"offsets", plan.reads.offsets_hits},
        {"lists", plan.reads.lists_hits},
        {"rows", plan.reads.rows_hits}}},
      {"gpu", plan.gpu},
      {"workers", arrangement.workers},
      {"computing", arrangement.computing},
      {"window", arrangement.window},
      {"ahead", arrangement.ahead},
      {"held", arrangement.held},
      {"batches", plan.batches},
      {"rows_read", plan.rows_an_epoch()},
      {"lists_read", plan.lists_an_epoch()},
      {"epoch_seconds",
       plan.seconds_an_epoch > 0 ? ordered_json(plan.seconds_an_epoch) : ordered_json(nullptr)},
      {"measured_beside_cores",
       plan.other_load > 0 ? ordered_json(plan.other_load) : ordered_json(nullptr)},
      {"pyg_bytes", plan.pyg_bytes}};
}

ordered_json to_json(const std::vector<Remedy>& remedies) {
  ordered_json list = ordered_json::array();
  for (const Remedy& remedy : remedies) {
    list.push_back({{"options", remedy.options},
                    {"minimum_bytes", remedy.minimum_bytes},
                    {"enough", remedy.enough}});
  }
  return list;
}

ordered_json to_json(const Fastest& fastest) {
  const auto setting = [](const Setting& one) {
    return ordered_json{
        {"batch_size", one.batch_size},
        {"workers", one.workers == 0 ? ordered_json(nullptr) : ordered_json(one.workers)},
        {"plan", to_json(one.plan)}};
  };
  ordered_json others = ordered_json::array();
  for (const Setting& one : fastest.others) others.push_back(setting(one));
  return {{"fastest", setting(fastest.best)}, {"tried", others}};
}

}  // namespace plimsoll::plan
