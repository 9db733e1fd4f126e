#include "train/feeder.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <span>
#include <thread>
#include <utility>

namespace plimsoll::train {
namespace {

// from_blob takes only pointers to non-const; these tensors are never written to.
template <typename T>
at::Tensor view(std::span<const T> values, at::ScalarType type) {
  if (values.empty()) return {};
  return at::from_blob(const_cast<T*>(values.data()), {static_cast<int64_t>(values.size())},
                       at::TensorOptions().dtype(type));
}
at::Tensor view(std::span<const uint32_t> values) { return view(values, at::kInt); }
at::Tensor view(std::span<const float> values) { return view(values, at::kFloat); }
at::Tensor view(const batch::Matrix& matrix) {
  if (matrix.data == nullptr) return {};
  return at::from_blob(const_cast<float*>(matrix.data),
                       {static_cast<int64_t>(matrix.rows), static_cast<int64_t>(matrix.columns)},
                       at::TensorOptions().dtype(at::kFloat));
}

at::Tensor view_or_empty(std::span<const uint32_t> values) {
  return values.empty() ? at::empty({0}, at::TensorOptions().dtype(at::kInt)) : view(values);
}

}  // namespace

nn::BatchTensors view_tensors(const batch::Batch& batch) {
  // Nodes beyond the input's rows are not needed: their rows are already in the sums.
  nn::BatchTensors tensors{.input = view(batch.input),
                           .own = view(batch.own),
                           .nodes = view(batch.nodes.first(batch.input.rows))};
  if (!batch.labels.empty()) tensors.labels = view(batch.labels, at::kInt);
  for (const batch::Block& block : batch.blocks) {
    const bool gradients = !block.source_offsets.empty();
    tensors.blocks.push_back({
        .destinations = block.destinations,
        .sources = block.sources,
        .offsets = view(block.offsets),
        .indices = view_or_empty(block.indices),
        .source_offsets = view(block.source_offsets),
        .by_source = gradients ? view_or_empty(block.by_source) : at::Tensor(),
        .source_edges = gradients ? view_or_empty(block.source_edges) : at::Tensor(),
        .destination_scale = view(block.destination_scale),
        .source_scale = view(block.source_scale),
        .self_scale = view(block.self_scale),
    });
  }
  return tensors;
}

nn::BatchTensors to_device(const nn::BatchTensors& tensors, c10::Device device) {
  const auto move = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(device, tensor.scalar_type(), /*non_blocking=*/true)
                            : tensor;
  };
  nn::BatchTensors moved{.input = move(tensors.input),
                         .own = move(tensors.own),
                         .nodes = move(tensors.nodes),
                         .labels = move(tensors.labels)};
  for (const nn::BlockTensors& block : tensors.blocks) {
    moved.blocks.push_back({.destinations = block.destinations,
                            .sources = block.sources,
                            .offsets = move(block.offsets),
                            .indices = move(block.indices),
                            .source_offsets = move(block.source_offsets),
                            .by_source = move(block.by_source),
                            .source_edges = move(block.source_edges),
                            .destination_scale = move(block.destination_scale),
                            .source_scale = move(block.source_scale),
                            .self_scale = move(block.self_scale)});
  }
  return moved;
}

Feeder::Feeder(batch::Pipeline& pipeline, c10::Device device)
    : pipeline_(pipeline), device_(device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  copies_ = guard.getStreamFromGlobalPool(device);
}

void Feeder::start(const batch::Pass& pass) {
  while (!queue_.empty()) give_back_front();
  pipeline_.start(pass);
  more_ = true;
}

void finish_copy(const c10::Event& copied) noexcept {
  try {
    while (!copied.query()) std::this_thread::yield();
  } catch (const c10::Error&) {
  }
}

Feeder::~Feeder() {
  pipeline_.stop();
  while (!queue_.empty()) give_back_front();
}

FedBatch& Feeder::next() {
  const bool one = device_.is_cpu() || pipeline_.one_at_a_time();
  const size_t wanted = one ? 1 : 1 + kAhead;
  while (more_ && queue_.size() < wanted) fetch();
  if (queue_.empty()) return nothing_;
  Copying& front = queue_.front();
  if (front.copied && front.fed.tensors) {
    const c10::impl::VirtualGuardImpl guard(device_.type());
    front.copied->block(guard.getStream(device_));
  }
  return front.fed;
}

// Waits for the copy, because the slot may be overwritten afterwards. The copy is nearly always
// finished by then.
void Feeder::give_back_front() {
  const Copying& front = queue_.front();
  if (front.copied) finish_copy(*front.copied);
  pipeline_.give_back(front.fed.batch);
  queue_.pop_front();
}

void Feeder::done() { give_back_front(); }

bool Feeder::retry(bool from_its_start) {
  Copying front = std::move(queue_.front());
  queue_.pop_front();
  front.fed.tensors.reset();
  if (front.copied) finish_copy(*front.copied);
  while (!queue_.empty()) give_back_front();
  more_ = true;
  return pipeline_.make_again(front.fed.batch, from_its_start);
}

void Feeder::drop() {
  while (!queue_.empty()) give_back_front();
  more_ = false;
  pipeline_.stop();
}

void Feeder::fetch() {
  const batch::Batch* batch = pipeline_.take();
  if (batch == nullptr) {
    more_ = false;
    return;
  }
  queue_.push_back({.fed = {.batch = batch}});
  if (device_.is_cpu()) {
    queue_.back().fed.tensors = view_tensors(*batch);
  } else {
    copy(queue_.back());
  }
}

void Feeder::copy(Copying& copying) {
  const c10::impl::VirtualGuardImpl guard(device_.type());
  const c10::Stream computing = guard.getStream(device_);
  {
    const c10::StreamGuard on_copies(*copies_);
    try {
      copying.fed.tensors = to_device(view_tensors(*copying.fed.batch), device_);
    } catch (const c10::OutOfMemoryError&) {
      copying.fed.tensors.reset();
    }
    copying.copied.emplace(device_.type());
    copying.copied->record(*copies_);
  }
  if (!copying.fed.tensors) return;
  // The tensors' memory belongs to the copying stream. It must not be reused for the next copy
  // before the computing stream has finished with it.
  const auto used = [&](const at::Tensor& tensor) {
    if (tensor.defined()) tensor.record_stream(computing);
  };
  nn::BatchTensors& tensors = *copying.fed.tensors;
  for (const auto* tensor : {&tensors.input, &tensors.own, &tensors.nodes, &tensors.labels}) {
    used(*tensor);
  }
  for (const nn::BlockTensors& block : tensors.blocks) {
    for (const auto* tensor :
         {&block.offsets, &block.indices, &block.source_offsets, &block.by_source,
          &block.source_edges, &block.destination_scale, &block.source_scale, &block.self_scale}) {
      used(*tensor);
    }
  }
}

}  // namespace plimsoll::train
