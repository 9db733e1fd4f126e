// A model: layers with batch norm, ReLU and dropout between them, over one flat tensor of
// parameters.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nn/activation.h"
#include "nn/batch_norm.h"
#include "nn/block_tensors.h"
#include "nn/layer.h"
#include "recipe/recipe.h"

namespace plimsoll::nn {

struct ModelShape {
  recipe::ModelKind kind = recipe::ModelKind::gcn;
  int64_t inputs = 0;  // columns of the features
  int64_t hidden = 0;  // columns between layers
  int64_t classes = 0;
  int64_t layers = 0;
  int64_t heads = 1;
  double dropout = 0;
  bool batch_norm = false;

  bool operator==(const ModelShape&) const = default;
};

// A batch on the model's device; the tensors may be views of the pipeline's memory.
struct BatchTensors {
  at::Tensor input;  // what the first layer gets, see batch::Input
  at::Tensor own;
  std::vector<BlockTensors> blocks;  // in the order in which layers compute
  at::Tensor nodes;                  // int32, positions in the store
  at::Tensor labels;                 // int32, of the seeds; may be undefined
};

// A tensor of the model under the name that PyTorch Geometric gives it: "conv1.lin.weight".
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// What a model says of the seeds.
struct Outputs {
  at::Tensor logits;  // [seeds, classes]
  at::Tensor
      embeddings;  // [seeds, hidden]: what the last layer was given; undefined with one layer
};

// For one thread.
class Model {
 public:
  // `seed` draws the parameters.
  Model(const ModelShape& shape, uint64_t seed, c10::Device device);

  const ModelShape& shape() const { return shape_; }
  int64_t parameter_count() const { return values_.numel(); }
  at::Tensor& values() { return values_; }
  at::Tensor& gradients() { return gradients_; }

  // While training, `dropout_key` chooses what is dropped, and what backward
  // needs is kept, the batch included.
  Outputs forward(const BatchTensors& batch, bool training, uint64_t dropout_key = 0);
  // Adds to gradients().
  void backward(const at::Tensor& logits_gradient);
  // Forgets what an unfinished forward or backward kept.
  void forget();

  // One layer alone with what follows it, not training: from its input to what the next layer gets.
  at::Tensor layer(size_t index, const LayerInput& input);

  // Parameters, views into values(), in optimizer order.
  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  // What torch's state_dict() holds: parameters, and batch norm's running figures. Views: writing
  // to them changes the model.
  std::vector<NamedTensor> state() const;

 private:
  void bind_parameters(uint64_t seed, c10::Device device);

  const ModelShape shape_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<BatchNorm> norms_;  // one for every layer but the last, or none
  at::Tensor values_;
  at::Tensor gradients_;
  std::vector<NamedTensor> parameters_;
  std::vector<at::Tensor> activations_;  // what each layer but the last handed on, while training
};

}  // namespace plimsoll::nn
