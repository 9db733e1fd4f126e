// How a training uses a GPU: whether the GPU makes the batches itself, and what its memory holds.
// There is a third line then: the first rows and lists of the store are in the GPU's memory, the
// next in memory of the host that the GPU reads.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/cold_rows.h"
#include "gpu/network_shape.h"
#include "gpu/resident_store.h"
#include "plan/question.h"

namespace plimsoll::plan {

// What CUDA, torch and cuBLAS take of a GPU before there is any data.
constexpr uint64_t kGpuContextBytes = uint64_t{768} << 20;
// Torch's small tensors: its allocator takes blocks of this size.
constexpr uint64_t kGpuTensorsBytes = uint64_t{24} << 20;
// The most of a GPU that a training takes without --gpu-memory.
constexpr double kMostGpuShare = 0.92;
// An evaluation is given at most so many nodes at a time, or a batch.
constexpr uint64_t kNodesAtOnce = uint64_t{1} << 20;

struct GpuLayout {
  bool draws = false;           // the GPU makes the batches
  std::string instead;          // else: why the CPU makes them
  bool too_small = false;       // because the GPU's memory, with the host's, is too small ...
  bool host_too_small = false;  // ... or the host's, whatever the GPU has
  uint64_t limit_bytes = 0;
  gpu::StoreLines lines;
  uint32_t part_seeds = 0;       // the most seeds that are computed at a time
  uint64_t parts = 1;            // of a batch
  uint64_t longest_pass = 0;     // nodes that one pass is given
  uint64_t evaluated_nodes = 0;  // that one pass of an evaluation is given
  uint64_t adjacency_bytes = 0;  // of the GPU, as the following
  uint64_t features_bytes = 0;
  uint64_t batches_bytes = 0;
  uint64_t model_bytes = 0;
  uint64_t runtime_bytes = 0;
  uint64_t far_bytes = 0;  // of the host, for what the GPU reads there
  // Rows that stay on disk are read in windows (gpu/cold_rows.h).
  uint64_t window_bytes = 0;        // for the rows of one window
  uint64_t windows_host_bytes = 0;  // for all that windows need, on the host ...
  uint64_t windows_bytes = 0;       // ... and on the GPU
  uint64_t evaluation_bytes = 0;    // of the host: nodes and labels of one pass of an evaluation
  double cold_rows = 0;             // rows of the disk that a batch wants
  double window_batches = 0;        // of a window, about
  double adjacency_near = 1;        // shares of visits that stay in the GPU's memory
  double features_near = 1;

  // What is taken once the GPU is open.
  uint64_t data_bytes() const {
    return adjacency_bytes + features_bytes + batches_bytes + windows_bytes + model_bytes;
  }
  uint64_t peak_bytes() const { return data_bytes() + runtime_bytes; }
  uint64_t host_bytes() const {
    return draws ? far_bytes + windows_host_bytes + evaluation_bytes +
                       gpu::ResidentStore::kLoadingBytes
                 : 0;
  }
};

// What the host holds of the nodes of one pass of an evaluation.
uint64_t evaluation_pass_bytes(uint64_t nodes);

// `host_room_bytes`: what the host has for the part of the store that the GPU's memory does not
// hold. The question must be of a GPU.
GpuLayout choose_gpu_layout(const Question& question, uint64_t host_room_bytes);

// Of a training whose batches the GPU makes; what `layout` was chosen for.
gpu::NetworkShape network_shape(const recipe::Recipe& recipe, const StoreShape& store,
                                const GpuLayout& layout);

}  // namespace plimsoll::plan
