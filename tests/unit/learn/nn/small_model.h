// The shape of a small model of any kind.
#pragma once

#include <cstdint>

#include "nn/model.h"
#include "recipe/recipe.h"

namespace plimsoll::nn {

inline ModelShape shape_of(recipe::ModelKind kind, int64_t layers, bool batch_norm = false) {
  return {.kind = kind,
          .inputs = 7,
          .hidden = 6,
          .classes = 5,
          .layers = layers,
          .heads = kind == recipe::ModelKind::gat ? 2 : 1,
          .dropout = 0.5,
          .batch_norm = batch_norm};
}

}  // namespace plimsoll::nn
