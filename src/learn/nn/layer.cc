#include "nn/layer.h"

#include <cmath>
#include <utility>

#include "nn/operations.h"

namespace plimsoll::nn {
namespace {

// The bounds of initial values in PyTorch (torch.nn.Linear) and PyTorch Geometric (glorot).
double linear_bound(int64_t in) { return 1.0 / std::sqrt(static_cast<double>(in)); }
double glorot_bound(int64_t rows, int64_t columns) {
  return std::sqrt(6.0 / static_cast<double>(rows + columns));
}

// weight.gradient += g^T x; bias.gradient += the sum of g's rows.
void add_weight_gradient(Parameter& weight, const at::Tensor& g, const at::Tensor& x) {
  add_transposed_product(weight.gradient, g, x);
}
void add_bias_gradient(Parameter& bias, const at::Tensor& g) { add_column_sums(bias.gradient, g); }

class Linear final : public Layer {
 public:
  explicit Linear(const LayerShape& shape) {
    parameters_ = {{"weight", {shape.out, shape.in}, linear_bound(shape.in), ParameterRole::weight},
                   {"bias", {shape.out}, linear_bound(shape.in), ParameterRole::bias}};
  }

  at::Tensor forward(const LayerInput& input, bool training) override {
    if (training) x_ = input.x;
    return product_plus_bias(parameters_[1].value, input.x, parameters_[0].value.t());
  }

  at::Tensor backward(const at::Tensor& gradient, bool input_gradient) override {
    add_weight_gradient(parameters_[0], gradient, x_);
    add_bias_gradient(parameters_[1], gradient);
    forget();
    return input_gradient ? product(gradient, parameters_[0].value) : at::Tensor();
  }

  void forget() override { x_.reset(); }

 private:
  at::Tensor x_;
};

class Gcn final : public Layer {
 public:
  explicit Gcn(const LayerShape& shape) : shape_(shape) {
    const double lin_bound = glorot_bound(shape.out, shape.in);
    parameters_ = {{"bias", {shape.out}, 0, ParameterRole::bias},
                   {"lin.weight", {shape.out, shape.in}, lin_bound, ParameterRole::weight}};
  }

  at::Tensor forward(const LayerInput& input, bool training) override {
    const at::Tensor weight = parameters_[1].value.t();
    const at::Tensor& bias = parameters_[0].value;
    block_ = input.block;
    sums_first_ = block_ == nullptr || sum_first(*block_, shape_.in, shape_.out);
    if (sums_first_) {
      const at::Tensor sums = block_ == nullptr ? input.x : aggregate(input.x, *block_);
      if (training) multiplied_ = sums;
      return product_plus_bias(bias, sums, weight);
    }
    if (training) multiplied_ = input.x;
    at::Tensor out = aggregate(product(input.x, weight), *block_);
    add_bias(out, bias);
    return out;
  }

  at::Tensor backward(const at::Tensor& gradient, bool input_gradient) override {
    add_bias_gradient(parameters_[0], gradient);
    const at::Tensor g = sums_first_ ? gradient : aggregate_backward(gradient, *block_);
    add_weight_gradient(parameters_[1], g, multiplied_);
    forget();
    if (!input_gradient) return {};
    const at::Tensor result = product(g, parameters_[1].value);
    return sums_first_ ? aggregate_backward(result, *block_) : result;
  }

  void forget() override { multiplied_.reset(); }

 private:
  const LayerShape shape_;
  const BlockTensors* block_ = nullptr;
  bool sums_first_ = true;
  at::Tensor multiplied_;  // what the weight was multiplied with
};

class Sage final : public Layer {
 public:
  explicit Sage(const LayerShape& shape) : shape_(shape) {
    const double bound = linear_bound(shape.in);
    parameters_ = {{"lin_l.weight", {shape.out, shape.in}, bound, ParameterRole::weight},
                   {"lin_l.bias", {shape.out}, bound, ParameterRole::bias},
                   {"lin_r.weight", {shape.out, shape.in}, bound, ParameterRole::own_weight}};
  }

  at::Tensor forward(const LayerInput& input, bool training) override {
    const at::Tensor neighbors_weight = parameters_[0].value.t();
    const at::Tensor& bias = parameters_[1].value;
    block_ = input.block;
    sums_first_ = block_ == nullptr || sum_first(*block_, shape_.in, shape_.out);
    const at::Tensor own =
        block_ == nullptr ? input.own : input.x.narrow(0, 0, block_->destinations);
    at::Tensor out;
    at::Tensor multiplied = input.x;
    if (sums_first_) {
      if (block_ != nullptr) multiplied = aggregate(input.x, *block_);
      out = product_plus_bias(bias, multiplied, neighbors_weight);
    } else {
      out = aggregate(product(input.x, neighbors_weight), *block_);
      add_bias(out, bias);
    }
    add_product(out, own, parameters_[2].value.t());
    if (training) {
      multiplied_ = multiplied;
      own_ = own;
    }
    return out;
  }

  at::Tensor backward(const at::Tensor& gradient, bool input_gradient) override {
    add_bias_gradient(parameters_[1], gradient);
    add_weight_gradient(parameters_[2], gradient, own_);
    const at::Tensor g = sums_first_ ? gradient : aggregate_backward(gradient, *block_);
    add_weight_gradient(parameters_[0], g, multiplied_);
    forget();
    if (!input_gradient) return {};
    at::Tensor result = product(g, parameters_[0].value);
    if (sums_first_) result = aggregate_backward(result, *block_);
    add_product(result.narrow(0, 0, block_->destinations), gradient, parameters_[2].value);
    return result;
  }

  void forget() override {
    multiplied_.reset();
    own_.reset();
  }

 private:
  const LayerShape shape_;
  const BlockTensors* block_ = nullptr;
  bool sums_first_ = true;
  at::Tensor multiplied_;  // what the neighbours' weight was multiplied with
  at::Tensor own_;
};

class Gat final : public Layer {
 public:
  explicit Gat(const LayerShape& shape) {
    const int64_t channels = shape.out / shape.heads;
    const double bound = glorot_bound(shape.heads, channels);
    const double lin_bound = glorot_bound(shape.out, shape.in);
    parameters_ = {{"att_src", {1, shape.heads, channels}, bound, ParameterRole::att_src},
                   {"att_dst", {1, shape.heads, channels}, bound, ParameterRole::att_dst},
                   {"bias", {shape.out}, 0, ParameterRole::bias},
                   {"lin.weight", {shape.out, shape.in}, lin_bound, ParameterRole::weight}};
  }

  at::Tensor forward(const LayerInput& input, bool training) override {
    block_ = input.block;
    const at::Tensor z = product(input.x, parameters_[3].value.t());
    Attention attention = attend(arguments(z));
    at::Tensor out = std::exchange(attention.out, {});  // backward does not read it
    add_bias(out, parameters_[2].value);
    if (training) {
      x_ = input.x;
      z_ = z;
      attention_ = std::move(attention);
    }
    return out;
  }

  at::Tensor backward(const at::Tensor& gradient, bool input_gradient) override {
    const AttentionGradients g = attend_backward(arguments(z_), gradient, attention_);
    parameters_[0].gradient.add_(g.att_src);
    parameters_[1].gradient.add_(g.att_dst);
    add_bias_gradient(parameters_[2], gradient);
    add_weight_gradient(parameters_[3], g.z, x_);
    forget();
    return input_gradient ? product(g.z, parameters_[3].value) : at::Tensor();
  }

  void forget() override {
    x_.reset();
    z_.reset();
    attention_ = {};
  }

 private:
  AttentionArguments arguments(const at::Tensor& z) const {
    return {z, parameters_[0].value, parameters_[1].value, *block_};
  }

  const BlockTensors* block_ = nullptr;
  at::Tensor x_;
  at::Tensor z_;
  Attention attention_;
};

}  // namespace

bool sum_first(const BlockTensors& block, int64_t in, int64_t out) {
  const int64_t edges = block.indices.size(0) + block.destinations;
  return edges * in + block.destinations * in * out <= edges * out + block.sources * in * out;
}

std::unique_ptr<Layer> make_linear(const LayerShape& shape) {
  return std::make_unique<Linear>(shape);
}
std::unique_ptr<Layer> make_gcn(const LayerShape& shape) { return std::make_unique<Gcn>(shape); }
std::unique_ptr<Layer> make_sage(const LayerShape& shape) { return std::make_unique<Sage>(shape); }
std::unique_ptr<Layer> make_gat(const LayerShape& shape) { return std::make_unique<Gat>(shape); }

}  // namespace plimsoll::nn
