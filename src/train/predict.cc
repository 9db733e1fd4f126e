#include "train/predict.h"

#include <ATen/ops/argmax.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <span>

#include "base/error.h"
#include "base/units.h"
#include "formats/npz_writer.h"
#include "io/file.h"
#include "io/load.h"
#include "io/partial_file.h"
#include "nn/model.h"
#include "train/checkpoint.h"
#include "train/data.h"
#include "train/device.h"
#include "train/inference.h"
#include "train/tensor_memory.h"

namespace plimsoll::train {
namespace {

// The asked-for nodes, by ascending original id.
struct Asked {
  batch::Seeds seeds;            // by position, as the store has them
  memory::Buffer<uint32_t> ids;  // original ids of the seeds
  memory::Buffer<uint32_t> row;  // where each seed's answer goes
};

std::span<const uint32_t> split_nodes(const Data& data, SplitName split) {
  switch (split) {
    case SplitName::train:
      return data.splits.train.nodes.span();
    case SplitName::valid:
      return data.splits.valid.nodes.span();
    case SplitName::test:
      return data.splits.test.nodes.span();
    case SplitName::all:
      break;
  }
  return {};
}

memory::Buffer<uint32_t> ids_of(const graph::Store& store, std::span<const uint32_t> nodes,
                                memory::Ledger& ledger) {
  memory::Buffer<uint32_t> ids(ledger, "predictions", nodes.size());
  const memory::Buffer<uint32_t> piece(ledger, "file buffers", 65536);
  io::FileReader reader(ledger, store.file("ids.u32"));
  uint64_t first = 0;
  uint64_t done = 0;
  while (const size_t count = reader.read_values(piece.span())) {
    for (; done < nodes.size() && nodes[done] < first + count; ++done) {
      ids[done] = piece[nodes[done] - first];
    }
    first += count;
  }
  return ids;
}

Asked ask(const PredictJob& job, const Data& data) {
  const graph::Store& store = job.store;
  const std::span<const uint32_t> nodes = split_nodes(data, job.split);
  const bool all = job.split == SplitName::all;
  if (!all && nodes.empty()) {
    fail(ErrorKind::input, "{}: the split asked for is empty; --split all takes every node",
         store.folder().string());
  }
  Asked asked{
      all ? batch::Seeds::all(store.meta().nodes) : batch::Seeds::in_order(nodes),
      all ? io::load_array<uint32_t>(job.ledger, "predictions", store.file("ids.u32"),
                                     store.meta().nodes, 1, [](std::span<const uint32_t>) {})
          : ids_of(store, nodes, job.ledger),
      memory::Buffer<uint32_t>(job.ledger, "predictions", all ? store.meta().nodes : nodes.size())};
  const memory::Buffer<uint32_t> by_id(job.ledger, "predictions", asked.ids.size());
  std::iota(by_id.begin(), by_id.end(), 0);
  std::sort(by_id.begin(), by_id.end(),
            [&](uint32_t a, uint32_t b) { return asked.ids[a] < asked.ids[b]; });
  for (uint32_t i = 0; i < by_id.size(); ++i) asked.row[by_id[i]] = i;
  return asked;
}

// One .npy file, whole or not at all.
void write_npy(const std::filesystem::path& path, formats::NpyType type,
               std::span<const uint64_t> shape, std::span<const std::byte> values) {
  io::PartialFile file(path);
  const std::string header = formats::npy_header(type, shape);
  file.append(std::as_bytes(std::span(header)));
  file.append(values);
  file.commit();
}

void check_fit(const Checkpoint& checkpoint, const PredictJob& job) {
  const nn::ModelShape wanted = shape_of(checkpoint.recipe, job.store);
  if (checkpoint.shape == wanted) return;
  fail(ErrorKind::input,
       "{} holds {}, the store {} has {} features and {} classes: not the same data set",
       job.checkpoint.string(), describe(checkpoint.shape), job.store.folder().string(),
       wanted.inputs, wanted.classes);
}

// Computes the wanted rows into `out`, [asked, columns] of T.
template <typename T>
void compute(const PredictJob& job, const Asked& asked, Inference& inference, uint64_t columns,
             std::span<T> out) {
  Report report(Report::wants_bars(job.run.quiet));
  const std::array<Question, 1> questions = {Question{asked.seeds, {}}};
  inference.answer(questions, report, [&](const Answer& answer) {
    at::Tensor rows =
        job.output == Output::embeddings ? answer.outputs.embeddings : answer.outputs.logits;
    if (job.output == Output::classes) rows = at::argmax(rows, 1);
    rows = rows.to(at::kCPU).contiguous();
    const T* values = rows.data_ptr<T>();
    for (int64_t i = 0; i < rows.size(0); ++i) {
      std::copy_n(values + i * columns, columns,
                  out.begin() + asked.row[answer.first + i] * columns);
    }
  });
}

void write_ids(const PredictJob& job, const Asked& asked) {
  const uint64_t count = asked.ids.size();
  const memory::Buffer<int64_t> sorted(job.ledger, "predictions", count);
  for (uint64_t i = 0; i < count; ++i) sorted[asked.row[i]] = asked.ids[i];
  write_npy(job.ids_out, formats::NpyType::int64, std::array{count}, std::as_bytes(sorted.span()));
}

}  // namespace

void predict(const PredictJob& job) {
  const TensorMemory tensors(job.ledger);
  const Checkpoint checkpoint = read_checkpoint(job.checkpoint);
  check_fit(checkpoint, job);
  if (job.output == Output::embeddings && checkpoint.shape.layers < 2) {
    fail(ErrorKind::usage, "--embeddings: a model of one layer has none");
  }
  const c10::Device device = choose_device(job.run.device);
  const memory::Lease runtime = lease_runtime(job.ledger, device);
  const recipe::Recipe& recipe = checkpoint.recipe;
  const plan::Arrangement arrangement = job.plan.arrangement;
  set_computing_threads(arrangement.computing);
  const Data data =
      load_data(job.store, job.ledger,
                {.arrangement = arrangement, .threads = job.run.threads, .quiet = job.run.quiet});
  const Asked asked = ask(job, data);
  nn::Model model(checkpoint.shape, 0, device);
  load_model(checkpoint, job.checkpoint, model);
  const Place place = {data.topology, arrangement, device, job.ledger};
  const graph::FirstLayer first_layer = job.store.meta().first_layer;
  Source source(place, data.rows, hops_of(recipe, first_layer),
                batch::assembly_for(recipe, first_layer));
  Inference inference(
      model, place, data.rows, source,
      {.evaluation = job.evaluation.value_or(recipe.evaluation),
       .batch_size = recipe.batch_size,
       .seed = recipe.seed,
       .first_layer = first_layer,
       .embeddings = job.output == Output::embeddings,
       .scratch = job.out.has_parent_path() ? job.out.parent_path() : std::filesystem::path(".")});
  const uint64_t count = asked.ids.size();
  if (job.output == Output::classes) {
    const memory::Buffer<int64_t> out(job.ledger, "predictions", count);
    compute<int64_t>(job, asked, inference, 1, out.span());
    write_npy(job.out, formats::NpyType::int64, std::array{count}, std::as_bytes(out.span()));
  } else {
    const auto columns = static_cast<uint64_t>(job.output == Output::logits ? model.shape().classes
                                                                            : model.shape().hidden);
    const memory::Buffer<float> out(job.ledger, "predictions", count * columns);
    compute<float>(job, asked, inference, columns, out.span());
    write_npy(job.out, formats::NpyType::float32, std::array{count, columns},
              std::as_bytes(out.span()));
  }
  if (!job.ids_out.empty()) write_ids(job, asked);
  fmt::print("wrote     {}: {} nodes of {}, by ascending id\n", job.out.string(),
             format_count(count), job.store.folder().string());
}

}  // namespace plimsoll::train
