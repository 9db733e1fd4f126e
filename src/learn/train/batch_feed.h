// A pipeline and its feeder, as a training or an evaluation uses them together.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <string>

#include "batch/pipeline.h"
#include "feature/rows.h"
#include "graph/meta.h"
#include "memory/buffer.h"
#include "memory/ledger.h"
#include "plan/arrangement.h"
#include "recipe/recipe.h"
#include "sample/topology.h"
#include "train/feeder.h"

namespace plimsoll::train {

// What is needed to make batches, independent of the model.
struct Place {
  const sample::Topology& topology;
  plan::Arrangement arrangement;
  c10::Device device;
  memory::Ledger& ledger;
  // Called when a batch takes unusually long: see PipelineOptions.
  std::function<void(const std::string& what)> on_stall = {};
};

// Which batches a recipe is trained on: fan-out, draw and assembly.
batch::PipelineOptions batches_of(const recipe::Recipe& recipe,
                                  graph::FirstLayer first_layer = graph::FirstLayer::none);

// A pipeline with its feeder.
struct BatchFeed {
  // `what` says which batches; everything else in it follows from the place.
  BatchFeed(const Place& place, const feature::RowSource& rows, batch::PipelineOptions what);

  std::unique_ptr<memory::PageSource> pages;
  batch::Pipeline pipeline;
  Feeder feeder;
};

}  // namespace plimsoll::train
