// What a training step costs on a device: measured by the training library, with the layers that it
// trains with. Free of torch.
#pragma once

#include <array>
#include <string>

#include "recipe/recipe.h"

namespace plimsoll::plan {

constexpr size_t kModelKinds = 4;

struct StepRates {
  // Seconds of a step on next to nothing: the cost of its operations, or of launching them.
  struct Fixed {
    double base = 0;
    double layer = 0;  // more for each layer
  };
  std::array<Fixed, kModelKinds> fixed = {};  // by recipe::ModelKind
  // The rest is a second's worth, of a GPU or of one thread. A value goes forward and backward,
  // unless something else stands here.
  double narrow_flops = 0;  // of products with kNarrow columns
  double wide_flops = 0;    // of products with kWide columns
  double activations = 0;   // values between two layers
  double sums = 0;          // values added up along edges, in one direction
  double attention = 0;     // values weighed along edges
  double losses = 0;        // logits
  double parameters = 0;    // changed by Adam
  double copied_bytes = 0;  // to a GPU; 0 on a CPU
  // How many times faster so many threads multiply, and go over values.
  unsigned threads = 1;
  double product_gain = 1;
  double pass_gain = 1;
  // How many times longer an ordinary batch takes on a CPU than all of these say; by model.
  std::array<double, kModelKinds> more = {1, 1, 1, 1};
  uint64_t library_bytes = 0;  // that loading the training library took; 0 = not seen
  std::string device;          // "cpu"; the name of a GPU

  static constexpr uint64_t kNarrow = 16;
  static constexpr uint64_t kWide = 256;

  bool known() const { return wide_flops > 0; }
  const Fixed& of(recipe::ModelKind kind) const { return fixed.at(static_cast<size_t>(kind)); }
  bool operator==(const StepRates&) const = default;
};
inline bool operator==(const StepRates::Fixed& a, const StepRates::Fixed& b) {
  return a.base == b.base && a.layer == b.layer;
}

}  // namespace plimsoll::plan
