// What a run has come to, as a file that Python's torch.load opens: model and optimizer under
// PyTorch's names, and where in its data the run stands.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/store.h"
#include "nn/adam.h"
#include "nn/model.h"
#include "recipe/recipe.h"
#include "train/results.h"
#include "train/torch_file.h"

namespace plimsoll::train {

// Where a run stands. Together with model, optimizer, recipe and store it determines all that
// follows: draws and dropout are hashes of (seed, epoch, batch).
struct Position {
  uint64_t epoch = 0;   // epochs completed
  uint64_t batch = 0;   // batches of the next epoch that are done
  double loss_sum = 0;  // over the seeds of those batches
  uint64_t seeds = 0;   // in those batches
  double epoch_seconds = 0;
  double total_seconds = 0;
  double lr_scale = 1;          // what a plateau has left of the learning rate
  uint64_t worse_in_a_row = 0;  // evaluations since the best one
  uint64_t plateau = 0;         // evaluations since the best one or the last cut of the rate
  uint64_t best_epoch = 0;
  std::optional<double> best_valid;
  std::optional<double> best_test;
  double best_loss = 0;
  std::vector<EpochResult> series;
};

// The data that a checkpoint belongs to.
struct StoreIdentity {
  std::string name;
  std::string checksum;
};
StoreIdentity identity_of(const graph::Store& store);

nn::ModelShape shape_of(const recipe::Recipe& recipe, const graph::Store& store);
std::string describe(const nn::ModelShape& shape);  // "gcn 128 -> 256 -> 172"

// A checkpoint's content. Its tensors are those of the model and the optimizer, not copies: write
// it before they change.
PyDict make_checkpoint(const nn::Model& model, const nn::Adam& adam, const recipe::Recipe& recipe,
                       const StoreIdentity& store, const Position& position);

struct Checkpoint {
  recipe::Recipe recipe;
  StoreIdentity store;
  nn::ModelShape shape;
  Position position;
  std::unique_ptr<TorchFileReader> content;
};
// Reads everything but the tensors. Throws Error{input} that names the file where it is not a
// checkpoint of ours. The ledger must outlive it.
Checkpoint read_checkpoint(const std::filesystem::path& file, memory::Ledger& ledger);

// Reads parameters into a model of the same shape.
void load_model(const Checkpoint& checkpoint, const std::filesystem::path& file, nn::Model& model);
void load_adam(const Checkpoint& checkpoint, const std::filesystem::path& file,
               const nn::Model& model, nn::Adam& adam);

}  // namespace plimsoll::train
