// A model and its optimizer. A model has layers with batch norm, ReLU and dropout between them,
// over one flat tensor of parameters.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nn/layer.h"
#include "nn/operations.h"
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
  at::Tensor input;  // of the first layer, see batch::Input
  at::Tensor own;
  std::vector<BlockTensors> blocks;  // in the order of computation
  at::Tensor nodes;                  // int32, positions in the store
  at::Tensor labels;                 // int32, of the seeds; may be undefined
};

// A tensor of the model with its name in PyTorch Geometric: "conv1.lin.weight".
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
  // Of a parameter: its layer, counted from 0, and what it does there.
  size_t layer = 0;
  ParameterRole role = ParameterRole::other;
};

// The model's results for the seeds.
struct Outputs {
  at::Tensor logits;  // [seeds, classes]
  // [seeds, hidden]: the input of the last layer; undefined if there is only one layer.
  at::Tensor embeddings;
};

// For one thread.
class Model {
 public:
  // `seed` determines the initial values of the parameters.
  Model(const ModelShape& shape, uint64_t seed, c10::Device device);

  const ModelShape& shape() const { return shape_; }
  int64_t parameter_count() const { return values_.numel(); }
  at::Tensor& values() { return values_; }
  at::Tensor& gradients() { return gradients_; }

  // In training, `dropout_key` selects the dropped values, and the model keeps what backward needs;
  // `batch` must then stay alive until backward.
  Outputs forward(const BatchTensors& batch, bool training, uint64_t dropout_key = 0);
  // Adds to gradients().
  void backward(const at::Tensor& logits_gradient);
  // Releases what forward or an unfinished backward kept.
  void forget();

  // Computes a single layer with its batch norm and ReLU, not for training. Returns the input of
  // the next layer.
  at::Tensor layer(size_t index, const LayerInput& input);

  // Views into values(), in the order of the optimizer.
  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  // The content of torch's state_dict(): parameters, and batch norm's running values. These are
  // views: writing to them changes the model.
  std::vector<NamedTensor> state() const;

 private:
  void bind_parameters(uint64_t seed, c10::Device device);

  const ModelShape shape_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<BatchNorm> norms_;  // one for every layer except the last, or none
  at::Tensor values_;
  at::Tensor gradients_;
  std::vector<NamedTensor> parameters_;
  std::vector<at::Tensor> activations_;  // in training: the output of each layer except the last
};

// Adam over the flat tensor of all parameters: a few operations per step, for any number of layers.
// The arithmetic is the same as in torch.optim.Adam.
struct Adam {
  explicit Adam(const at::Tensor& parameters);

  // Updates `parameters`. Overwrites `gradient`, which is undefined afterwards. Allocates nothing,
  // so a lack of memory cannot interrupt a step.
  void step(at::Tensor& parameters, at::Tensor& gradient, double lr, double weight_decay);

  static constexpr double kBeta1 = 0.9;
  static constexpr double kBeta2 = 0.999;
  static constexpr double kEpsilon = 1e-8;

  int64_t steps = 0;
  at::Tensor mean;    // moving average of the gradients
  at::Tensor square;  // moving average of their squares
};

}  // namespace plimsoll::nn
