// The layers, with explicit backward functions and without autograd. It is then known what a layer
// keeps from forward to backward, and its memory can be counted before anything is allocated.
// Formulas and parameter names are those of PyTorch Geometric. Batch norm, which may follow a
// layer, is here, too.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nn/operations.h"

namespace plimsoll::nn {

// What a parameter does in its layer. `weight` multiplies the sums, or the values of a layer
// without neighbours; `own_weight` multiplies a node's own values beside its sums; `att_src` and
// `att_dst` score a source and a destination for attention.
enum class ParameterRole { weight, own_weight, att_src, att_dst, bias, other };

// `value` and `gradient` are views into the model's flat tensors.
struct Parameter {
  std::string name;
  std::vector<int64_t> shape;
  // The initial value is uniform in [-bound, bound].
  double bound = 0;
  ParameterRole role = ParameterRole::other;
  at::Tensor value;
  at::Tensor gradient;
};

// The first layer of gcn and sage gets sums that the pipeline has already made, and no block.
struct LayerInput {
  at::Tensor x;                         // [sources, in], or the sums [destinations, in]
  at::Tensor own;                       // [destinations, in]; sage's first layer only
  const BlockTensors* block = nullptr;  // must stay alive until backward
};

class Layer {
 public:
  Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  virtual ~Layer() = default;

  // Returns [destinations, out]. Keeps what backward needs if `training`.
  virtual at::Tensor forward(const LayerInput& input, bool training) = 0;
  // Adds to the parameters' gradients. Returns the gradient of x, or undefined if `input_gradient`
  // is false.
  virtual at::Tensor backward(const at::Tensor& gradient, bool input_gradient) = 0;

  // Releases what forward kept for backward.
  virtual void forget() = 0;

  // In torch's order for a module: its own parameters first, then those of its parts.
  std::vector<Parameter>& parameters() { return parameters_; }

 protected:
  std::vector<Parameter> parameters_;
};

struct LayerShape {
  int64_t in = 0;
  int64_t out = 0;
  int64_t heads = 1;  // gat: out = heads x channels
};

std::unique_ptr<Layer> make_linear(const LayerShape& shape);
std::unique_ptr<Layer> make_gcn(const LayerShape& shape);
std::unique_ptr<Layer> make_sage(const LayerShape& shape);
std::unique_ptr<Layer> make_gat(const LayerShape& shape);

// Whether summing before the matrix product takes fewer multiplications than summing after it.
bool sum_first(const BlockTensors& block, int64_t in, int64_t out);

// Batch norm over the columns of [rows, columns] like torch. On a CPU the sums over the rows are
// made in double precision, in parts that are added in order (nn/threads.h); on a GPU torch makes
// them.
class BatchNorm {
 public:
  BatchNorm(int64_t columns, c10::Device device);

  // In training: normalises with the mean and variance of the rows, updates the running ones and
  // keeps what backward needs. Else normalises with the running mean and variance.
  at::Tensor forward(const at::Tensor& x, bool training);
  // Adds to the parameters' gradients. Returns the gradient of x.
  at::Tensor backward(const at::Tensor& gradient);
  // Releases what forward kept for backward.
  void forget() { x_.reset(); }

  Parameter weight;
  Parameter bias;
  at::Tensor running_mean;
  at::Tensor running_var;
  at::Tensor batches;  // how many were seen in training; an int64 on the CPU

 private:
  void learn_figures(const at::Tensor& x);
  at::Tensor forward_on_cpu(const at::Tensor& x, const at::Tensor& mean,
                            const at::Tensor& inverse_deviation) const;
  at::Tensor forward_on_gpu(const at::Tensor& x, bool training);
  at::Tensor backward_on_cpu(const at::Tensor& gradient);
  at::Tensor backward_on_gpu(const at::Tensor& gradient);

  // Kept by forward for backward.
  at::Tensor x_;
  at::Tensor mean_;
  at::Tensor inverse_deviation_;
};

}  // namespace plimsoll::nn
