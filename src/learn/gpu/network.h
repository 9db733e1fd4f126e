// A model and the batches that it is trained on, wholly on a device: seeds, draws, sums, layers,
// loss, gradients and the optimizer's step. A batch is a tree of positions (gpu/device_batch.h), so
// every batch has the same sizes: all memory is taken at the beginning, and the work of a batch is
// recorded once and then started as a whole.
//
// A batch that is too large for the memory is computed in parts, whose gradients add up.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpu/accelerator.h"
#include "gpu/device_attention.h"
#include "gpu/network_shape.h"
#include "recipe/recipe.h"

namespace plimsoll::gpu {

// The parameters of one layer on the device, [out, in], with the places of their gradients.
struct LayerParameters {
  float* weight = nullptr;      // multiplies the sums; for gat and mlp, the values
  float* own_weight = nullptr;  // sage: multiplies the own values; else null
  float* att_src = nullptr;     // gat: [heads, channels]; else null
  float* att_dst = nullptr;
  float* bias = nullptr;
  float* weight_gradient = nullptr;
  float* own_weight_gradient = nullptr;
  float* att_src_gradient = nullptr;
  float* att_dst_gradient = nullptr;
  float* bias_gradient = nullptr;
};

// Gradients must be 0 at the beginning; every step leaves them so.
struct ModelParameters {
  std::vector<LayerParameters> layers;
  // All parameters as one array, and the optimizer's averages.
  float* values = nullptr;
  float* gradients = nullptr;
  float* mean = nullptr;
  float* square = nullptr;
  uint64_t count = 0;
  // Adam's constants.
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
};

// The parts of a store that batches need, where the device reaches them.
struct StoreView {
  ListFiles lists;
  FeatureRows rows;
};

struct PassOrder {
  std::span<const uint32_t> nodes;  // of all batches from `base` on
  std::span<const int32_t> labels;  // of these nodes; may be empty
  std::optional<uint64_t> shuffle;  // the key of their order, as batch::Seeds::shuffled
  uint32_t batch_size = 1;
  uint64_t base = 0;
  uint64_t first_batch = 0;  // to compute
  uint64_t draws_key = 0;
  // Of a training.
  uint64_t dropout_key = 0;
  double lr = 0;
  double weight_decay = 0;
  uint64_t steps = 0;  // that the optimizer has made
};

// For one thread. Device, store and parameters must outlive it.
class Network {
 public:
  Network(Accelerator& device, const NetworkShape& shape, const StoreView& store,
          const ModelParameters& parameters);

  // Begins a pass; the spans are not used afterwards.
  void begin(const PassOrder& order);

  // Marks the cold rows that these batches of the pass will need. `marks` has a bit for each cold
  // row; every call must get the same memory, because the work is recorded with its address.
  void mark(uint64_t first, uint64_t count, uint32_t* marks);

  // Trains on the next batch, and makes the optimizer's step.
  void train();
  // The losses of batches of the pass, each the sum over its seeds. Waits for them.
  void losses(uint64_t first, std::span<float> out);

  // Computes the next part of the pass without training. Its results stay until the next call.
  struct Part {
    uint64_t first = 0;  // of its seeds, in the whole pass
    uint32_t seeds = 0;
    uint32_t step = 0;                // logits: value of seed s and class c at c * step + s
    const float* logits = nullptr;    // on the device
    const float* hidden = nullptr;    // on the device, [seeds, hidden]: the input of the last layer
    const int32_t* labels = nullptr;  // on the device; -1 without labels
  };
  Part evaluate();

 private:
  size_t layers() const { return shape_.recipe.fanout.size(); }
  bool draws() const { return shape_.recipe.model != recipe::ModelKind::mlp; }
  bool sage() const { return shape_.recipe.model == recipe::ModelKind::sage; }
  bool gat() const { return shape_.recipe.model == recipe::ModelKind::gat; }
  // gcn and sage: neighbours are added up before the product, the first layer's while they are
  // drawn.
  bool sums_first() const { return weights_ != SumWeights::none; }
  bool is_last(size_t layer) const { return layer + 1 == layers(); }
  uint64_t inputs(size_t layer) const { return layer == 0 ? shape_.columns : shape_.recipe.hidden; }
  uint64_t outputs(size_t layer) const {
    return is_last(layer) ? shape_.classes : shape_.recipe.hidden;
  }
  uint64_t results(size_t layer) const { return positions_.at(hop_of(shape_.recipe, layer)); }
  uint32_t fanout_of(size_t layer) const {
    return shape_.recipe.fanout.at(hop_of(shape_.recipe, layer));
  }
  const float* multiplied(size_t layer) const;
  const float* own_values(size_t layer) const;
  LayerResults results_of(size_t layer) const;
  float keep_scale() const;

  uint32_t seeds_of(uint64_t index) const;
  // The work of a batch (network_layers.cc).
  void draw(BatchState* state);
  void sum_rows();
  void forward(bool training);
  void sum_tree(size_t layer);
  void multiply_layer(size_t layer);
  void compute_loss();
  void backward();
  void backward_layer(size_t layer);
  void spread_gradient(size_t layer, uint64_t rows);
  void add_up_rows(const AddRows& rows, float* out);
  void finish_step();
  // The work of a gat layer (network_attention.cc).
  LayerEdges edges_of(size_t layer) const;
  void attend(size_t layer);
  void take_back_attention(size_t layer);

  Accelerator& device_;
  const NetworkShape shape_;
  const StoreView store_;
  const ModelParameters parameters_;
  const SumWeights weights_;
  const std::vector<uint64_t> positions_;

  Array<PassFacts> pass_;
  Array<BatchState> state_;
  Array<BatchState> mark_state_;  // of marking, which is ahead
  Array<uint32_t> given_;
  Array<int32_t> given_labels_;
  Array<uint32_t> order_;
  Array<int32_t> order_labels_;
  Array<float> losses_;  // of the batches of the pass
  Array<float> roots_;
  Array<uint32_t> nodes_;
  Array<uint32_t> degrees_;
  Array<int32_t> labels_;
  Array<float> input_;
  Array<float> own_;                  // sage
  std::vector<Array<float>> sums_;    // of every layer but the first
  std::vector<Array<float>> values_;  // results of every layer but the last
  struct Attention {
    Array<float> z;  // the products, then their gradients
    Array<float> scores;
    Array<float> own_scores;
    Array<float> weights;
  };
  std::vector<Attention> attention_;  // gat: of every layer
  Array<float> logits_;
  Array<ChunkFigures> chunks_;
  Array<SeedFigures> figures_;
  Array<float> sums_gradient_;
  Array<float> own_gradient_;
  Array<float> score_gradients_;
  Array<float> own_score_gradients_;
  Array<float> seed_losses_;
  Array<float> partial_sums_;

  PassOrder order_facts_;  // without the spans
  uint64_t pass_size_ = 0;
  uint64_t index_ = 0;   // of the next batch
  uint32_t before_ = 0;  // seeds of it that were already computed
  std::unique_ptr<Accelerator::Recording> train_part_;
  std::unique_ptr<Accelerator::Recording> train_whole_;  // a batch that is one part
  std::unique_ptr<Accelerator::Recording> finish_;
  std::unique_ptr<Accelerator::Recording> evaluate_part_;
  std::unique_ptr<Accelerator::Recording> mark_part_;
  std::unique_ptr<Accelerator::Recording> mark_end_;
  std::unique_ptr<Accelerator::Recording> skip_;  // to the next batch of an evaluation
};

}  // namespace plimsoll::gpu
