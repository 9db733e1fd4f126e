// The layers, each with its gradient written out: what a layer keeps from forward to backward is
// seen here and can be counted before anything is allocated, and no operation is recorded that is
// not needed. Formulas and parameter names are PyTorch Geometric's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nn/block_tensors.h"

namespace plimsoll::nn {

// A parameter; value and gradient are views into the model's flat tensors.
struct Parameter {
  std::string name;
  std::vector<int64_t> shape;
  // Drawn uniformly from [-bound, bound].
  double bound = 0;
  at::Tensor value;
  at::Tensor gradient;
};

// What a layer computes from. The first layer of gcn and sage is given sums that the pipeline has
// made already, and no block.
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

  // [destinations, out]. What backward needs is kept if `training`.
  virtual at::Tensor forward(const LayerInput& input, bool training) = 0;
  // Adds to the parameters' gradients. Returns the gradient of x, undefined unless wanted.
  virtual at::Tensor backward(const at::Tensor& gradient, bool input_gradient) = 0;

  // Lets go of what was kept for backward.
  virtual void forget() = 0;

  // In the order in which torch lists a module's: its own first, then those of its parts.
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

// Whether summing before multiplying is cheaper than after, in multiplications.
bool sum_first(const BlockTensors& block, int64_t in, int64_t out);

}  // namespace plimsoll::nn
