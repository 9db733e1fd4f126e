// A synthetic citation graph of any size, as an InputGraph. Every part is a function of (seed,
// index): only what belongs to a class is stored, any thread can make any part, and the same seed
// gives the same graph with any number of threads.
//
// Nodes: class sizes are proportional to 1 / (c + 4). Class c is a contiguous block of internal
// indices; a node's offset in the block is its rank of popularity. An affine permutation turns
// internal indices into public ids.
//
// Edges: with skew(u; k, e) = ((u + e)^k - e^k) / ((1 + e)^k - e^k), the citing paper has the
// public id floor(N * skew(u; 6, 0.4)), so that half of all citations come from a tenth of the
// papers. With probability `homophily` the cited class is the citing paper's own, else it is drawn
// in proportion to size. Within its class the cited paper has rank
// floor(0.75 * size * skew(u; 8, 0.25)): a quarter of the papers is never cited, most are cited a
// few times, and the tail of in-degrees follows a power law.
//
// Features: signal * g_class + z, with g_class ~ N(0, 1 / columns) and z ~ N(0, 1), times 0.25.
//
// Labels: a random subset of the nodes, divided into train, valid and test.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "ingest/input_graph.h"
#include "memory/buffer.h"

namespace plimsoll::ingest {

struct SynthOptions {
  uint64_t nodes = 0;
  uint64_t edges = 0;
  uint32_t classes = 0;
  uint32_t feature_columns = 0;
  uint64_t train = 0;
  uint64_t valid = 0;
  uint64_t test = 0;
  double homophily = 0;  // probability that an edge is forced to stay within its class
  double signal = 0;     // distance of a class's features from the mean, in units of the noise
  uint64_t seed = 0;
};

// The files in which OGB ships a data set.
enum class ShippedAs { npz, csv };

// A known data set to imitate.
struct SynthPreset {
  std::string_view name;
  SynthOptions options;  // at full size
  ShippedAs shipped_as;
};
const std::vector<SynthPreset>& synth_presets();

// Multiplies every count except classes and columns by `scale`, but keeps enough to be a graph.
SynthOptions scaled(const SynthOptions& options, double scale);

// Throws Error{usage} that names the invalid option.
void check(const SynthOptions& options);

class SynthGraph final : public InputGraph {
 public:
  // Leases what it keeps of each class, and throws Error{memory} if that does not fit.
  SynthGraph(const SynthOptions& options, memory::Ledger& ledger);
  static uint64_t bytes_needed(const SynthOptions& options);

  const Shape& shape() const override { return shape_; }
  size_t next_edges(std::span<uint32_t> sources, std::span<uint32_t> destinations) override;
  Rows next_rows(std::span<float> values) override;
  uint64_t leased_bytes() const override { return bytes_needed(options_); }
  bool has_random_rows() const override { return true; }
  void rows_of(std::span<const uint32_t> nodes, std::span<float> values) const override;
  void read_labels(const LabelSink& sink) override;
  void read_splits(const SplitSink& sink) override;
  std::string place(InputPart part, uint64_t row) const override;

 private:
  // A bijection of [0, N): i -> (i * multiplier + shift) mod N.
  struct Permutation {
    uint64_t modulus = 1;
    uint64_t multiplier = 1;
    uint64_t inverse = 1;
    uint64_t shift = 0;
    Permutation(uint64_t count, uint64_t bits);
    uint64_t forward(uint64_t i) const { return (i * multiplier + shift) % modulus; }
    uint64_t backward(uint64_t id) const {
      return (id + modulus - shift) % modulus * inverse % modulus;
    }
  };
  struct Edge {
    uint32_t source;
    uint32_t destination;
  };
  Edge edge(uint64_t index) const;
  uint32_t class_of_index(uint64_t internal) const;
  void make_row(uint32_t node, std::span<float> values) const;

  const SynthOptions options_;
  Shape shape_;
  RandomStream edge_stream_;
  RandomStream feature_stream_;
  Permutation ids_;                       // internal index -> public id
  Permutation labels_;                    // index among the labelled nodes -> public id
  memory::Buffer<uint64_t> class_begin_;  // first internal index of each class, then N
  memory::Buffer<float> centers_;         // classes x columns
  std::vector<uint32_t> class_hint_;      // first class of each 2^hint_shift_ internal indices
  int hint_shift_ = 0;
  std::vector<float> normal_;  // quantiles of the normal distribution, scaled
  std::atomic<uint64_t> next_edge_ = 0;
  std::atomic<uint64_t> next_row_ = 0;
};

// What a user asks of the generator: a preset, perhaps scaled, with values that replace its own, or
// a graph of free shape. Nothing: as in the preset, or the default.
struct SynthRequest {
  std::string preset;
  double scale = 1;
  std::optional<uint64_t> nodes;
  std::optional<uint64_t> edges;
  std::optional<uint32_t> classes;
  std::optional<uint32_t> features;
  std::optional<double> homophily;
  std::optional<double> signal;
  uint64_t seed = 0;
};

// Null if there is no preset of this name.
const SynthPreset* find_preset(const std::string& name);

// A graph of so many nodes without a preset: all nodes are labelled and split 60 : 20 : 20.
SynthOptions free_shape(uint64_t nodes);

// Throws Error{usage} that names what is missing or invalid.
SynthOptions synth_options(const SynthRequest& request);

// For meta.json: what makes the same graph again.
nlohmann::json describe_generator(const SynthRequest& request, const SynthOptions& shape);

}  // namespace plimsoll::ingest
