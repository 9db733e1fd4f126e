#include "train/batch_feed.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "batch/assemble.h"

namespace plimsoll::train {
namespace {

// Pinned memory, from which a GPU copies asynchronously.
class TorchPinnedPages final : public memory::PageSource {
 public:
  uint64_t whole_bytes(uint64_t bytes) const override { return plan::pinned_bytes(bytes); }
  void* allocate(uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    at::Tensor tensor = at::empty({static_cast<int64_t>(bytes)},
                                  at::TensorOptions().dtype(at::kByte).pinned_memory(true));
    void* data = tensor.data_ptr();
    lent_[data] = std::move(tensor);
    return data;
  }
  void release(void* data, uint64_t /*bytes*/) noexcept override {
    const std::lock_guard lock(mutex_);
    lent_.erase(data);
  }

 private:
  std::mutex mutex_;
  std::map<void*, at::Tensor> lent_;
};

// Null for a CPU.
std::unique_ptr<memory::PageSource> pinned_pages(c10::Device device) {
  if (device.is_cpu()) return nullptr;
  return std::make_unique<TorchPinnedPages>();
}

batch::PipelineOptions at_place(batch::PipelineOptions what, const Place& place,
                                memory::PageSource* pages) {
  what.workers = place.arrangement.workers;
  what.slots = place.arrangement.slots();
  what.window = place.arrangement.windows();
  what.pages = pages;
  what.on_stall = place.on_stall;
  return what;
}

}  // namespace

batch::PipelineOptions batches_of(const recipe::Recipe& recipe, graph::FirstLayer first_layer) {
  return {.fanout = batch::drawn_fanout(recipe, first_layer),
          .draw = recipe.sampler,
          .assembly = batch::assembly_for(recipe, first_layer)};
}

BatchFeed::BatchFeed(const Place& place, const feature::RowSource& rows,
                     batch::PipelineOptions what)
    : pages(pinned_pages(place.device)),
      pipeline(place.topology, rows, at_place(std::move(what), place, pages.get()), place.ledger),
      feeder(pipeline, place.device) {}

}  // namespace plimsoll::train
