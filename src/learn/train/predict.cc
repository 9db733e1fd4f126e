// What predict does (train/inference.h): computes the asked nodes, sorts the rows by original id,
// and writes them. With several ranks, rank 0 gets the rows of the others and writes all.
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "formats/npy_rows.h"
#include "io/file.h"
#include "io/partial_file.h"
#include "memory/index_set.h"
#include "nn/model.h"
#include "nn/operations.h"
#include "nn/threads.h"
#include "train/checkpoint.h"
#include "train/data.h"
#include "train/device.h"
#include "train/footprint.h"
#include "train/gpu_training.h"
#include "train/inference.h"
#include "train/kept_rows.h"
#include "train/rank_group.h"
#include "train/room_keeper.h"
#include "train/tensor_memory.h"

namespace plimsoll::train {
namespace {

// Null for all nodes.
const batch::Split* split_of(const Data& data, PredictedNodes split) {
  switch (split) {
    case PredictedNodes::train:
      return &data.splits.train;
    case PredictedNodes::valid:
      return &data.splits.valid;
    case PredictedNodes::test:
      return &data.splits.test;
    case PredictedNodes::all:
      break;
  }
  return nullptr;
}

std::string_view name_of(PredictedNodes split) {
  constexpr std::array<std::string_view, 4> kNames = {"training", "validation", "test", "all"};
  return kNames.at(static_cast<size_t>(split));
}

// The original ids of nodes. Positions must be requested in ascending order.
class Ids {
 public:
  Ids(const graph::Store& store, memory::Ledger& ledger)
      : reader_(ledger, store.file("ids.u32")), piece_(ledger, "file buffers", kIdsAtOnce) {}

  uint32_t at(uint64_t position) {
    while (position >= first_ + count_) {
      first_ += count_;
      count_ = reader_.read_values(piece_.span());
      if (count_ == 0) fail(ErrorKind::store, "ids.u32 ends before position {}", position);
    }
    return piece_[position - first_];
  }

 private:
  io::FileReader reader_;
  memory::Buffer<uint32_t> piece_;
  uint64_t first_ = 0;
  uint64_t count_ = 0;
};

// The requested nodes, and the set of their original ids. The output has one row per node, in
// ascending order of ids.
struct Asked {
  batch::Seeds seeds;
  memory::IndexSet ids;
  std::span<const int32_t> labels;  // of the seeds; empty for all nodes
};

std::filesystem::path scratch_folder(const PredictJob& job) {
  return job.out.has_parent_path() ? job.out.parent_path() : std::filesystem::path(".");
}

Asked ask(const PredictJob& job, const Data& data) {
  const graph::Store& store = job.store;
  const batch::Split* const split = split_of(data, job.split);
  if (split != nullptr && split->nodes.size() == 0) {
    fail(ErrorKind::input, "{}: the requested split is empty; use --split all for all nodes",
         store.folder().string());
  }
  Asked asked{split == nullptr ? batch::Seeds::all(store.meta().nodes)
                               : batch::Seeds::in_order(split->nodes.span()),
              memory::IndexSet(job.ledger, store.meta().nodes),
              split == nullptr ? std::span<const int32_t>() : split->labels.span()};
  Ids ids(store, job.ledger);
  for (uint64_t i = 0; i < asked.seeds.size(); ++i) asked.ids.add(ids.at(asked.seeds.node(i)));
  asked.ids.count();
  return asked;
}

void check_fit(const Checkpoint& checkpoint, const PredictJob& job) {
  const nn::ModelShape wanted = shape_of(checkpoint.recipe, job.store);
  if (checkpoint.shape == wanted) return;
  fail(ErrorKind::input,
       "{} holds {}, the store {} has {} features and {} classes: not the same data set",
       job.checkpoint.string(), describe(checkpoint.shape), job.store.folder().string(),
       wanted.inputs, wanted.classes);
}

// The numbers of the nodes that a rank computes, in its order: of every batch its part, or of all
// nodes its part if all neighbours are used.
template <typename Each>
void for_nodes_of(const batch::BatchCut& cut, uint64_t nodes, uint64_t together, const Each& each) {
  for (uint64_t first = 0; first < nodes; first += together) {
    const uint64_t count = std::min(together, nodes - first);
    for (uint64_t i = cut.begin(count); i < cut.end(count); ++i) each(first + i);
  }
}

// Puts rows of nodes, which come in ascending order, to their place in the output.
class RowPlacer {
 public:
  RowPlacer(const PredictJob& job, const Asked& asked, formats::NpyRows& rows)
      : asked_(asked), rows_(rows), ids_(job.store, job.ledger) {}

  void put(uint64_t number, std::span<const std::byte> row) {
    rows_.put(asked_.ids.rank(ids_.at(asked_.seeds.node(number))), row);
  }

 private:
  const Asked& asked_;
  formats::NpyRows& rows_;
  Ids ids_;
};

using TakeRow = std::function<void(uint64_t number, std::span<const std::byte> row)>;

// Computes what this rank computes of the nodes, and hands over their rows in order. Returns how
// many classes are right; 0 without labels.
double compute_rows(const PredictJob& job, const Asked& asked, Inference& inference,
                    const TakeRow& take) {
  TrainReport report(TrainReport::wants_bars(job.run.quiet));
  const batch::BatchCut cut = inference.is_full() ? inference.cut() : batch::BatchCut();
  const uint64_t begin = cut.begin(asked.seeds.size());
  const uint64_t size = cut.end(asked.seeds.size()) - begin;
  const std::array<NodeQuery, 1> queries = {
      NodeQuery{asked.seeds.part(begin, size), asked.labels}};  // labels by place in the whole list
  double correct = 0;
  inference.answer(queries, report, [&](const Answer& answer) {
    // First all that may run out of memory: the batch is then made again, in parts.
    const double right =
        asked.labels.empty()
            ? 0
            : nn::count_correct(answer.outputs.logits, answer.labels).item<double>();
    at::Tensor values =
        job.output == Output::embeddings ? answer.outputs.embeddings : answer.outputs.logits;
    if (job.output == Output::classes) values = nn::largest_column(values);
    values = values.to(at::kCPU).contiguous();
    const auto count = static_cast<uint64_t>(values.size(0));
    const uint64_t row_bytes = values.nbytes() / std::max<uint64_t>(1, count);
    const auto* first = static_cast<const std::byte*>(values.data_ptr());
    for (uint64_t i = 0; i < count; ++i) {
      take(begin + answer.first + i, {first + i * row_bytes, row_bytes});
    }
    correct += right;
  });
  return correct;
}

// The rows of all other ranks go to rank 0, piece by piece. All ranks call it; `kept` is null on
// rank 0, and `rows` on all others.
void collect_rows(const PredictJob& job, const Asked& asked, const Inference& inference,
                  const KeptRows* kept, formats::NpyRows* rows, uint64_t row_bytes) {
  RankGroup& group = *inference.group();
  const uint64_t nodes = asked.seeds.size();
  const uint64_t together = inference.is_full() ? nodes : inference.batch_size();
  at::Tensor piece = at::empty({static_cast<int64_t>(KeptRows::kPieceBytes)}, at::kByte);
  auto* const data = static_cast<std::byte*>(piece.data_ptr());
  for (unsigned rank = 1; rank < group.place().size; ++rank) {
    const batch::BatchCut cut = {rank, group.place().size};
    std::optional<RowPlacer> placer;
    if (rows != nullptr) placer.emplace(job, asked, *rows);
    uint64_t pieces = 0;
    uint64_t left_bytes = 0;  // of the piece
    std::vector<std::byte> row(row_bytes);
    for_nodes_of(cut, nodes, together, [&](uint64_t number) {
      for (uint64_t filled = 0; filled < row_bytes;) {
        if (left_bytes == 0) {
          if (group.place().rank == rank) kept->read(pieces, {data, KeptRows::kPieceBytes});
          group.broadcast(piece, rank);
          ++pieces;
          left_bytes = KeptRows::kPieceBytes;
        }
        const uint64_t count = std::min(left_bytes, row_bytes - filled);
        std::memcpy(row.data() + filled, data + KeptRows::kPieceBytes - left_bytes, count);
        filled += count;
        left_bytes -= count;
      }
      if (placer) placer->put(number, row);
    });
  }
}

// Of all ranks.
double add_up_correct(ranks::Group* group, double correct) {
  if (group == nullptr) return correct;
  double sum = 0;
  for (const std::string& one : group->exchange(fmt::format("{}", correct))) sum += std::stod(one);
  return sum;
}

// Returns how many classes are right, on all ranks.
double write_answers(const PredictJob& job, const Asked& asked, BatchFeed& feed,
                     Inference& inference) {
  const nn::ModelShape shape = inference.shape();
  const OutputColumns columns = {static_cast<uint64_t>(shape.classes),
                                 static_cast<uint64_t>(shape.hidden)};
  const auto options = output_options(job.output, job.out, asked.seeds.size(), columns);
  const uint64_t row_bytes =
      job.output == Output::classes ? sizeof(int64_t) : options.columns * sizeof(float);
  if (job.group != nullptr && !job.group->first()) {
    KeptRows kept(scratch_folder(job), job.ledger);
    const double correct = compute_rows(
        job, asked, inference,
        [&](uint64_t /*number*/, std::span<const std::byte> row) { kept.append(row); });
    feed.pipeline.release();
    kept.finish();
    collect_rows(job, asked, inference, &kept, nullptr, row_bytes);
    return add_up_correct(job.group, correct);
  }
  formats::NpyRows rows(options, job.ledger);
  double correct = 0;
  {
    RowPlacer placer(job, asked, rows);
    correct = compute_rows(
        job, asked, inference,
        [&](uint64_t number, std::span<const std::byte> row) { placer.put(number, row); });
  }
  feed.pipeline.release();
  if (job.group != nullptr) collect_rows(job, asked, inference, nullptr, &rows, row_bytes);
  rows.finish();
  return add_up_correct(job.group, correct);
}

void write_ids(const PredictJob& job, const Asked& asked) {
  io::PartialFile file(job.ids_out);
  const std::string header =
      formats::npy_header(formats::NpyType::int64, std::array{asked.ids.size()});
  file.append(std::as_bytes(std::span(header)));
  const memory::Buffer<int64_t> piece(job.ledger, "predictions", kIdsAtOnce);
  uint64_t filled = 0;
  const auto flush = [&] {
    file.append(std::as_bytes(piece.first(filled)));
    filled = 0;
  };
  for (uint64_t id = asked.ids.next(0); id < asked.ids.end(); id = asked.ids.next(id + 1)) {
    piece[filled++] = static_cast<int64_t>(id);
    if (filled == piece.size()) flush();
  }
  flush();
  file.commit();
}

// What is kept of the checkpoint; its own tensors are released.
struct Trained {
  recipe::Recipe recipe;
  nn::Model model;
};
Trained load(const PredictJob& job, c10::Device device) {
  const Checkpoint checkpoint = read_checkpoint(job.checkpoint, job.ledger);
  check_fit(checkpoint, job);
  if (job.output == Output::embeddings && checkpoint.shape.layers < 2) {
    fail(ErrorKind::usage, "--embeddings: a model with one layer has no embeddings");
  }
  Trained trained{checkpoint.recipe, nn::Model(checkpoint.shape, 0, device)};
  load_model(checkpoint, job.checkpoint, trained.model);
  return trained;
}

}  // namespace

void predict(const PredictJob& job) {
  const TensorMemory tensors(job.ledger);
  const c10::Device device =
      choose_device(job.run.device, job.group == nullptr ? 0 : job.group->place().local_rank);
  const memory::Lease runtime = lease_runtime(job.ledger, job.plan.runtime_bytes);
  Trained trained = load(job, device);
  const recipe::Recipe& recipe = trained.recipe;
  const plan::Arrangement& arrangement = job.plan.arrangement;
  nn::set_computing_threads(arrangement.computing);
  const Data data = load_data(job.store, arrangement, job.run, job.ledger, job.group);
  const Asked asked = ask(job, data);
  const uint64_t lines = plan::line_bytes(arrangement.lines);
  const uint64_t limit = job.ledger.limit_bytes();
  const RoomKeeper room_keeper(job.ledger, data.rows.file(), limit - std::min(limit, lines),
                               data.shared_line.get());
  const Place place = {data.topology, arrangement, device, job.ledger};
  const graph::FirstLayer first_layer = job.store.meta().first_layer;
  BatchFeed feed(place, data.rows, batches_of(recipe, first_layer));
  Inference inference(trained.model, place, data.rows, feed,
                      {.evaluation = job.evaluation,
                       .batch_size = recipe.batch_size,
                       .seed = recipe.seed,
                       .first_layer = first_layer,
                       .embeddings = job.output == Output::embeddings,
                       .scratch = scratch_folder(job),
                       .full_batch_bytes = job.plan.full_batch_bytes,
                       .check = [&] { room_keeper.rethrow_failure(); },
                       .group = static_cast<RankGroup*>(job.group)});
  std::optional<GpuTraining> gpu;
  if (job.plan.on_gpu.draws) {
    gpu.emplace(GpuTraining::Job{job.store, recipe, job.plan, job.run, job.ledger, device});
    gpu->prepare(trained.model, /*adam=*/nullptr);
    inference.use(*gpu);
  }
  const double correct = write_answers(job, asked, feed, inference);
  if (job.group != nullptr && !job.group->first()) return;
  if (!job.ids_out.empty()) {
    try {
      write_ids(job, asked);
    } catch (const Error& error) {
      fail(error.kind(), "{} is written, but --ids {} is not: {}", job.out.string(),
           job.ids_out.string(), error.what());
    }
  }
  const uint64_t nodes = asked.seeds.size();
  if (!asked.labels.empty()) {
    fmt::print("accuracy  {:.4f}: {} of {} {} nodes\n", correct / static_cast<double>(nodes),
               format_count(static_cast<uint64_t>(correct)), format_count(nodes),
               name_of(job.split));
  }
  fmt::print("wrote     {}: {} node{} of {}, by ascending id\n", job.out.string(),
             format_count(nodes), nodes == 1 ? "" : "s", job.store.folder().string());
}

}  // namespace plimsoll::train
