// The checkpoint of a run, a file that Python's torch.load can open: model and optimizer with
// PyTorch's names, and the position of the run in its data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/store.h"
#include "nn/model.h"
#include "recipe/recipe.h"
#include "train/results.h"
#include "train/torch_file.h"

namespace plimsoll::train {

// The position of a run. Together with model, optimizer, recipe and store it determines everything
// that follows, because sampling and dropout are hashes of (seed, epoch, batch).
struct Position {
  uint64_t epoch = 0;   // epochs completed
  uint64_t batch = 0;   // batches completed in the next epoch
  double loss_sum = 0;  // over the seeds of these batches
  uint64_t seeds = 0;   // in these batches
  double epoch_seconds = 0;
  double total_seconds = 0;
  double lr_scale = 1;          // factor of the learning rate, reduced by the plateau schedule
  uint64_t worse_in_a_row = 0;  // evaluations since the best one
  uint64_t plateau = 0;         // evaluations since the best one or the last reduction of the rate
  uint64_t best_epoch = 0;
  std::optional<double> best_valid;
  std::optional<double> best_test;
  double best_loss = 0;
  std::vector<EpochResult> series;
};

// The store that a checkpoint belongs to.
struct StoreIdentity {
  std::string name;
  std::string checksum;
};
StoreIdentity identity_of(const graph::Store& store);

nn::ModelShape shape_of(const recipe::Recipe& recipe, const graph::Store& store);
std::string describe(const nn::ModelShape& shape);  // "gcn 128 -> 256 -> 172"

// The content of a checkpoint file. Its tensors share memory with the model and the optimizer, and
// it refers to the position: write it before these change.
PyDict make_checkpoint(const nn::Model& model, const nn::Adam& adam, const recipe::Recipe& recipe,
                       const StoreIdentity& store, const Position& position);
PyDict make_checkpoint(const nn::Model& model, const nn::Adam& adam, const recipe::Recipe& recipe,
                       const StoreIdentity& store, Position&& position) = delete;

struct Checkpoint {
  recipe::Recipe recipe;
  StoreIdentity store;
  nn::ModelShape shape;
  Position position;
  std::unique_ptr<TorchFileReader> content;
};
// Reads everything except the tensors. Throws Error{input} that names the file if Plimsoll did not
// write it. The ledger must outlive the Checkpoint.
Checkpoint read_checkpoint(const std::filesystem::path& file, memory::Ledger& ledger);

// Read the tensors into a model of the same shape and its optimizer.
void load_model(const Checkpoint& checkpoint, const std::filesystem::path& file, nn::Model& model);
void load_adam(const Checkpoint& checkpoint, const std::filesystem::path& file,
               const nn::Model& model, nn::Adam& adam);

}  // namespace plimsoll::train
