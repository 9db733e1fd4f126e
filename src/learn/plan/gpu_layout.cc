#include "plan/gpu_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/units.h"
#include "gpu/cuda_accelerator.h"
#include "plan/footprint.h"
#include "plan/lines.h"

namespace plimsoll::plan {
namespace {

using gpu::ResidentStore;

// The share of the room that batches get: smaller parts make the step slower, and fewer rows in the
// GPU's memory make the sums slower.
constexpr uint64_t kBatchesPart = 2;
// One of two windows gets one of these parts of the host's room.
constexpr std::array<uint64_t, 5> kWindowParts = {4, 8, 16, 32, 64};
constexpr uint64_t kLeastWindowBytes = 4 * kMiB;
constexpr uint64_t kMostWindowBytes = 2048 * kMiB;
constexpr uint64_t kMargin = 64;
constexpr double kBatchesAWindow = 2;  // at least, because batches vary
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

GpuLayout host_too_small(const Question& question, std::string why) {
  GpuLayout layout = too_small(question, std::move(why));
  layout.host_too_small = true;
  return layout;
}

// Puts as much as fits into the GPU's memory, the rest into the host's.
void draw_lines(const Work& work, uint64_t room_bytes, GpuLayout& layout) {
  const StoreShape& store = work.store;
  Lines near = LineChoice(work).within(room_bytes);
  near.features_bytes =
      ResidentStore::line_at(store.features_bytes(), near.features_bytes, store.row_bytes);
  const bool lists = work.recipe.model != recipe::ModelKind::mlp;
  layout.lines = {.offsets_bytes = near.offsets_bytes,
                  .neighbors_bytes = near.neighbors_bytes,
                  .features_bytes = near.features_bytes,
                  .lists = lists};
  layout.far_bytes = ResidentStore::host_bytes(store.features_bytes(), near.features_bytes);
  layout.features_bytes = ResidentStore::device_bytes(store.features_bytes(), near.features_bytes);
  const Reads far = predict_reads(work, near);
  layout.features_near = far.rows_hits;
  if (!lists) return;
  layout.adjacency_bytes =
      ResidentStore::device_bytes(store.offsets_bytes(), near.offsets_bytes) +
      ResidentStore::device_bytes(store.neighbors_bytes(), near.neighbors_bytes);
  layout.far_bytes += ResidentStore::host_bytes(store.offsets_bytes(), near.offsets_bytes) +
                      ResidentStore::host_bytes(store.neighbors_bytes(), near.neighbors_bytes);
  layout.adjacency_near = far.adjacency_hits;
}

gpu::ColdOptions cold_options(const GpuLayout& layout) {
  return {.window_bytes = layout.window_bytes};
}

uint64_t window_rows(const Work& work, const GpuLayout& layout) {
  return layout.window_bytes / std::max<uint64_t>(1, work.store.row_bytes);
}

// The rows behind a line of the rows that was asked for at `line_bytes`.
uint64_t cold_rows_from(const StoreShape& store, uint64_t line_bytes) {
  const uint64_t line = ResidentStore::line_at(store.features_bytes(), line_bytes, store.row_bytes);
  return store.nodes - line / store.row_bytes;
}

// Leaves the coldest rows on disk. What windows need grows with the number of these rows, on the
// GPU, too, so the line is found step by step. False if not even a batch would fit.
bool lower_rows(const Work& work, uint64_t room_bytes, uint64_t host_room_bytes,
                uint64_t window_bytes, GpuLayout& layout) {
  const StoreShape& store = work.store;
  layout.window_bytes = std::clamp(window_bytes, kLeastWindowBytes, kMostWindowBytes);
  if (store.row_bytes == 0) return false;
  for (uint64_t cold = cold_rows_from(store, store.features_bytes() - 1);;) {
    if (cold >= store.nodes) return false;
    layout.windows_bytes = gpu::ColdRows::device_bytes(cold);
    layout.windows_host_bytes = gpu::ColdRows::host_bytes(store.nodes, cold, cold_options(layout));
    if (layout.windows_bytes > room_bytes) return false;
    draw_lines(work, room_bytes - layout.windows_bytes, layout);
    const uint64_t far_rows =
        ResidentStore::host_bytes(store.features_bytes(), layout.lines.features_bytes);
    const uint64_t others = layout.host_bytes() - far_rows;
    if (others > host_room_bytes) return false;
    const uint64_t rows_end =
        std::min(store.features_bytes(), layout.lines.features_bytes + host_room_bytes - others);
    if (const uint64_t left = cold_rows_from(store, rows_end); left > cold) {
      const uint64_t margin = std::min(left / kMargin, store.nodes - left);
      cold = cold_rows_from(store, (store.nodes - left - margin) * store.row_bytes);
      continue;
    }
    // Fewer rows are on disk than there is room to note.
    layout.lines.features_end_bytes = (store.nodes - cold) * store.row_bytes;
    layout.lines.features_bytes =
        std::min(layout.lines.features_bytes, layout.lines.features_end_bytes);
    layout.features_bytes =
        ResidentStore::device_bytes(store.features_bytes(), layout.lines.features_bytes);
    layout.far_bytes +=
        ResidentStore::host_bytes(layout.lines.features_end_bytes, layout.lines.features_bytes);
    layout.far_bytes -= far_rows;
    break;
  }
  const Lines resident = {store.offsets_bytes(), store.neighbors_bytes(),
                          layout.lines.features_end_bytes};
  layout.cold_rows = predict_reads(work, resident).rows;
  return kBatchesAWindow * layout.cold_rows <= static_cast<double>(window_rows(work, layout));
}

// Of an evaluation. At the end, the best epoch is evaluated on the training nodes, too.
uint64_t evaluated_at_once(const StoreShape& store, uint64_t batch_size) {
  const uint64_t most = store.asked_nodes > 0 ? store.asked_nodes
                                              : std::max(store.evaluated_nodes, store.train_nodes);
  return std::min(most, std::max(kNodesAtOnce, batch_size));
}

// A training needs all its nodes at once, because it shuffles them.
uint64_t longest_pass(const StoreShape& store, uint64_t batch_size) {
  return std::max(store.asked_nodes > 0 ? 0 : store.train_nodes,
                  evaluated_at_once(store, batch_size));
}

// Why the CPU makes the batches, whatever the GPU's memory; empty if the GPU can.
std::string why_on_cpu(const Question& question) {
  const bool precomputed = question.store.first_layer != graph::FirstLayer::none;
  const std::string why = gpu::cannot_draw(question.recipe, precomputed);
  if (!why.empty()) return why;
  if (question.store.asked_nodes > 0 && evaluates_in_full(question.work())) {
    return "a prediction with all neighbours goes layer by layer";
  }
  if (question.ranks > 1) return "ranks cut their batches on the CPU";
  if (!question.gpu_problem.empty()) return question.gpu_problem;
  return question.gpu_memory_bytes == 0 ? "the GPU's memory is unknown" : "";
}

// Halves the seeds of a part until its batch fits into its share of `room_bytes`, or to one seed.
// Sets the layout's part, and returns the share.
uint64_t choose_part(const Question& question, uint64_t room_bytes, GpuLayout& layout) {
  uint64_t seeds =
      std::min<uint64_t>(question.recipe.batch_size, std::max<uint64_t>(1, layout.longest_pass));
  uint64_t share = 0;
  for (;; seeds = (seeds + 1) / 2) {
    layout.part_seeds = static_cast<uint32_t>(std::min<uint64_t>(seeds, UINT32_MAX));
    const gpu::NetworkShape shape = network_shape(question.recipe, question.store, layout);
    layout.batches_bytes = gpu::network_bytes(shape);
    const bool counted =
        seeds == layout.part_seeds && gpu::most_threads(shape) <= gpu::kThreadLimit;
    // What grows with the pass does not shrink with the seeds.
    const uint64_t pass = gpu::pass_bytes(shape);
    share = pass + (room_bytes - std::min(room_bytes, pass)) / kBatchesPart;
    if ((counted && layout.batches_bytes <= share) || seeds == 1) break;
  }
  layout.parts = (std::min(question.recipe.batch_size, layout.longest_pass) + seeds - 1) / seeds;
  return share;
}

// The layout with its coldest rows on disk, and the windows that read the least; nothing if there
// is no room for any. Larger windows pass over the file less often, and leave less memory for rows.
std::optional<GpuLayout> with_rows_on_disk(const Question& question, uint64_t lines_bytes,
                                           uint64_t host_room_bytes, const GpuLayout& layout) {
  const Work work = question.work();
  std::optional<GpuLayout> best;
  double least_bytes = 0;
  for (const uint64_t part : kWindowParts) {
    GpuLayout tried = layout;
    if (!lower_rows(work, lines_bytes, host_room_bytes, host_room_bytes / part, tried)) continue;
    const auto batches = static_cast<double>(question.batches());
    tried.window_batches = std::min(
        batches, static_cast<double>(window_rows(work, tried)) / std::max(1.0, tried.cold_rows));
    const auto cold_bytes =
        static_cast<double>(question.store.features_bytes() - tried.lines.features_end_bytes);
    const double bytes = batches / std::max(1.0, tried.window_batches) * cold_bytes;
    if (best && bytes >= least_bytes) continue;
    best = tried;
    least_bytes = bytes;
  }
  return best;
}

}  // namespace

uint64_t evaluation_pass_bytes(uint64_t nodes) {
  return memory::Buffer<uint32_t>::bytes_needed(nodes) +
         memory::Buffer<int32_t>::bytes_needed(nodes);
}

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
  if (const std::string why = why_on_cpu(question); !why.empty()) {
    return not_drawing(question, why);
  }
  GpuLayout layout{.draws = true,
                   .limit_bytes = question.gpu_memory_bytes,
                   .longest_pass = longest_pass(question.store, question.recipe.batch_size),
                   .evaluated_nodes = evaluated_at_once(question.store, question.recipe.batch_size),
                   .model_bytes = model_bytes(work) + kGpuTensorsBytes,
                   .runtime_bytes = kGpuContextBytes + gpu::CudaAccelerator::kWorkspaceBytes};
  if (!evaluates_in_full(work)) {
    layout.evaluation_bytes = evaluation_pass_bytes(layout.evaluated_nodes);
  }
  const uint64_t taken = layout.model_bytes + layout.runtime_bytes;
  const uint64_t room = layout.limit_bytes - std::min(layout.limit_bytes, taken);
  const uint64_t share = choose_part(question, room, layout);
  if (layout.batches_bytes + kRoundingBytes > room) {
    return too_small(question,
                     fmt::format("{} of GPU memory do not hold a batch of one seed: {} are needed",
                                 format_bytes(layout.limit_bytes),
                                 format_bytes_up(taken + layout.batches_bytes + kRoundingBytes)));
  }
  // A batch in parts may grow into its whole share, so that more memory lowers no line.
  const uint64_t kept = std::max(layout.batches_bytes, layout.parts > 1 ? share : uint64_t{0});
  const uint64_t for_lines = room - kept - std::min(room - kept, kRoundingBytes);
  draw_lines(work, for_lines, layout);
  if (layout.host_bytes() <= host_room_bytes) return layout;
  const uint64_t beside = layout.host_bytes() - layout.far_bytes;
  if (host_room_bytes < beside) {
    return host_too_small(
        question, fmt::format("loading a store for the GPU takes {} of RAM, and beside libtorch {} "
                              "are left",
                              format_bytes(beside), format_bytes(host_room_bytes)));
  }
  if (const auto found = with_rows_on_disk(question, for_lines, host_room_bytes, layout)) {
    return *found;
  }
  return too_small(
      question,
      fmt::format("{} of the store fit neither into {} of GPU memory nor into the limit, and there "
                  "is no room to read them from disk in windows",
                  format_bytes(layout.far_bytes), format_bytes(layout.limit_bytes)));
}

}  // namespace plimsoll::plan
