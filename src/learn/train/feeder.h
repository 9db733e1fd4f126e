// Batches as tensors on the model's device. On a CPU the tensors are views of the pipeline's
// memory. For a GPU the pipeline assembles in pinned memory, and batches are copied on a stream of
// their own while the ones before are computed.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "batch/pipeline.h"
#include "feature/row_source.h"
#include "memory/buffer.h"
#include "memory/ledger.h"
#include "nn/model.h"
#include "plan/arrangement.h"
#include "recipe/recipe.h"
#include "sample/topology.h"

namespace plimsoll::train {

// Memory that a GPU copies from without a stop; null for a CPU.
std::unique_ptr<memory::PageSource> pinned_pages(c10::Device device);

// A batch's tensors as views; it must stay alive.
nn::BatchTensors view_tensors(const batch::Batch& batch);
nn::BatchTensors to_device(const nn::BatchTensors& tensors, c10::Device device);

// Returns when what the event stands for has ended, or the device has failed: whoever computes on
// it meets the failure itself.
void finish_copy(const c10::Event& copied) noexcept;

struct FedBatch {
  const batch::Batch* batch = nullptr;
  // Empty where the device had no room for the copy: cut the batch, then.
  std::optional<nn::BatchTensors> tensors;
};

// For one thread. Between start and the null batch at the end, every next() is followed by done().
class Feeder {
 public:
  Feeder(batch::Pipeline& pipeline, c10::Device device);
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  // How many batches it holds beyond the one that next() gave.
  static constexpr unsigned kAhead = plan::kCopiedAhead;

  void start(const batch::Pass& pass);
  // The next batch; `batch` is null after the last one.
  FedBatch& next();
  void done();
  // Instead of done(), where there was no room to compute the batch: see Pipeline::make_again.
  bool retry(bool from_its_start);
  // Ends the pass early.
  void drop();

 private:
  struct Copying {
    FedBatch fed;
    std::optional<c10::Event> copied;  // on a GPU
  };
  void fetch();
  void give_back_front();
  void copy(Copying& copying);

  batch::Pipeline& pipeline_;
  const c10::Device device_;
  std::optional<c10::Stream> copies_;
  std::deque<Copying> queue_;  // the front one is with the caller
  bool more_ = false;
  FedBatch nothing_;
};

// What batches are made from, and in which room.
struct Place {
  const sample::Topology& topology;
  plan::Arrangement arrangement;
  c10::Device device;
  memory::Ledger& ledger;
  // Told of everything that takes unusually long.
  std::function<void(const std::string& what)> on_stall = {};
};

struct Hops {
  std::vector<uint32_t> fanout;
  recipe::Draw draw = recipe::Draw::uniform;
};

Hops hops_of(const recipe::Recipe& recipe, graph::FirstLayer first_layer = graph::FirstLayer::none);

// A pipeline for these hops whose batches fit the device, with its feeder.
struct BatchFeed {
  BatchFeed(const Place& place, const feature::RowSource& rows, const Hops& hops,
            const batch::Assembly& assembly);

  std::unique_ptr<memory::PageSource> pages;
  batch::Pipeline pipeline;
  Feeder feeder;
};

}  // namespace plimsoll::train
