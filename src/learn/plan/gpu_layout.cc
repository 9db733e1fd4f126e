#include "plan/gpu_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "gpu/cuda_accelerator.h"
#include "plan/arrange.h"
#include "plan/footprint.h"

namespace plimsoll::plan {
namespace {

using gpu::ResidentStore;

// The share of the room that batches get: smaller parts make the step slower, and fewer rows in the
// GPU's memory make the sums slower.
constexpr uint64_t kBatchesPart = 2;
// Each of the three files takes whole allocations of the GPU's memory.
constexpr uint64_t kRoundingBytes = 3 * gpu::Array<uint8_t>::bytes_needed(1);

GpuLayout not_drawing(const Question& question, std::string why) {
  return {.instead = std::move(why), .limit_bytes = question.gpu_memory_bytes};
}

GpuLayout too_small(const Question& question, std::string why) {
  GpuLayout layout = not_drawing(question, std::move(why));
  layout.too_small = true;
  return layout;
}

}  // namespace

gpu::NetworkShape network_shape(const recipe::Recipe& recipe, const StoreShape& store,
                                const GpuLayout& layout) {
  return {.recipe = recipe,
          .columns = store.columns,
          .classes = store.classes,
          .part_seeds = layout.part_seeds,
          .longest_pass = layout.longest_pass};
}

GpuLayout choose_gpu_layout(const Question& question, uint64_t host_room_bytes) {
  const Work work = question.work();
  const StoreShape& store = question.store;
  const std::string why =
      gpu::cannot_draw(question.recipe, store.first_layer != graph::FirstLayer::none);
  if (!why.empty()) return not_drawing(question, why);
  if (question.ranks > 1) return not_drawing(question, "ranks cut their batches on the CPU");
  if (store.asked_nodes > 0) return not_drawing(question, "predictions are drawn on the CPU");
  if (question.gpu_memory_bytes == 0) return not_drawing(question, "the GPU's memory is unknown");
  const bool lists = question.recipe.model != recipe::ModelKind::mlp;
  GpuLayout layout{
      .draws = true,
      .limit_bytes = question.gpu_memory_bytes,
      .longest_pass = std::max(
          store.train_nodes,
          std::min(store.evaluated_nodes, std::max(kNodesAtOnce, question.recipe.batch_size))),
      .model_bytes = model_bytes(work) + kGpuTensorsBytes,
      .runtime_bytes = kGpuContextBytes + gpu::CudaAccelerator::kWorkspaceBytes};
  const uint64_t taken = layout.model_bytes + layout.runtime_bytes;
  const uint64_t room = layout.limit_bytes - std::min(layout.limit_bytes, taken);
  uint64_t seeds =
      std::min<uint64_t>(question.recipe.batch_size, std::max<uint64_t>(1, layout.longest_pass));
  for (;; seeds = (seeds + 1) / 2) {
    layout.part_seeds = static_cast<uint32_t>(seeds);
    layout.batches_bytes = gpu::network_bytes(network_shape(question.recipe, store, layout));
    if (layout.batches_bytes <= room / kBatchesPart || seeds == 1) break;
  }
  if (layout.batches_bytes + kRoundingBytes > room) {
    return too_small(question,
                     fmt::format("{} of GPU memory do not hold a batch of one seed: {} are needed",
                                 format_bytes(layout.limit_bytes),
                                 format_bytes_up(taken + layout.batches_bytes + kRoundingBytes)));
  }
  layout.parts = (std::min(question.recipe.batch_size, layout.longest_pass) + seeds - 1) / seeds;
  // A batch in parts may grow into its whole share, so that more memory lowers no line.
  const uint64_t kept =
      std::max(layout.batches_bytes, layout.parts > 1 ? room / kBatchesPart : uint64_t{0});
  const uint64_t lines_room = room - kept;
  Lines near = LineChoice(work).within(lines_room - std::min(lines_room, kRoundingBytes));
  near.features_bytes =
      ResidentStore::line_at(store.features_bytes(), near.features_bytes, store.row_bytes);
  layout.lines = {near.offsets_bytes, near.neighbors_bytes, near.features_bytes, lists};
  if (lists) {
    layout.adjacency_bytes =
        ResidentStore::device_bytes(store.offsets_bytes(), near.offsets_bytes) +
        ResidentStore::device_bytes(store.neighbors_bytes(), near.neighbors_bytes);
    layout.far_bytes = ResidentStore::host_bytes(store.offsets_bytes(), near.offsets_bytes) +
                       ResidentStore::host_bytes(store.neighbors_bytes(), near.neighbors_bytes);
  }
  layout.features_bytes = ResidentStore::device_bytes(store.features_bytes(), near.features_bytes);
  layout.far_bytes += ResidentStore::host_bytes(store.features_bytes(), near.features_bytes);
  const Reads far = predict_reads(work, near);
  layout.adjacency_near = lists ? far.adjacency_hits : 1;
  layout.features_near = far.rows_hits;
  if (layout.host_bytes() > host_room_bytes) {
    return too_small(
        question,
        fmt::format("{} of the store fit neither into {} of GPU memory nor into the limit",
                    format_bytes(layout.far_bytes), format_bytes(layout.limit_bytes)));
  }
  return layout;
}

}  // namespace plimsoll::plan
