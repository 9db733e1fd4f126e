#include "ingest/synth.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "graph/meta.h"

namespace plimsoll::ingest {
namespace {

constexpr double kCitedShare = 0.75;
constexpr float kFeatureScale = 0.25F;
constexpr size_t kNormalTable = 4096;  // 16 KiB: stays in the first-level cache
constexpr size_t kLabelsPerPiece = 64 * 1024;
constexpr uint64_t kFewestNodes = 100;

// Streams of random numbers, one per purpose.
enum Stream : uint64_t { kEdges, kFeatures, kCenters, kIds, kLabels };

constexpr double power(double base, int exponent) {
  double result = 1;
  for (int i = 0; i < exponent; ++i) result *= base;
  return result;
}

// Maps [0, 1) onto itself so that results are dense near 0. The offset limits how dense, and so the
// largest degree.
template <int exponent>
constexpr double skew(double u, double offset) {
  const double low = power(offset, exponent);
  return (power(u + offset, exponent) - low) / (power(1 + offset, exponent) - low);
}

// The `p` quantile of the normal distribution, by bisection on erfc. It only fills a small table at
// the start, so simple is better than fast.
double normal_quantile(double p) {
  double low = -9;
  double high = 9;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

// The inverse of a modulo m, by Euclid's extended algorithm.
uint64_t inverse_modulo(uint64_t a, uint64_t m) {
  auto r0 = static_cast<int64_t>(m);
  auto r1 = static_cast<int64_t>(a);
  int64_t t0 = 0;
  int64_t t1 = 1;
  while (r1 != 0) {
    const int64_t quotient = r0 / r1;
    t0 = std::exchange(t1, t0 - quotient * t1);
    r0 = std::exchange(r1, r0 - quotient * r1);
  }
  return static_cast<uint64_t>(t0 < 0 ? t0 + static_cast<int64_t>(m) : t0);
}

// The share of the nodes in class c, up to a common factor.
double class_weight(uint32_t c) { return 1.0 / (c + 4.0); }

void fill_class_boundaries(uint64_t nodes, uint32_t classes, std::span<uint64_t> begin) {
  double sum = 0;
  for (uint32_t c = 0; c < classes; ++c) sum += class_weight(c);
  double below = 0;
  for (uint32_t c = 0; c < classes; ++c) {
    below += class_weight(c);
    // Every class gets at least one node.
    const auto wanted = static_cast<uint64_t>(static_cast<double>(nodes) * below / sum);
    begin[c + 1] = std::clamp(wanted, begin[c] + 1, nodes - (classes - 1 - c));
  }
  begin[classes] = nodes;
}

// classes x columns
uint64_t center_values(const SynthOptions& options) {
  return static_cast<uint64_t>(options.classes) * options.feature_columns;
}

}  // namespace

const std::vector<SynthPreset>& synth_presets() {
  static const std::vector<SynthPreset> presets = {
      {"papers100M",
       {.nodes = 111'059'956,
        .edges = 1'615'685'872,
        .classes = 172,
        .feature_columns = 128,
        .train = 1'207'179,
        .valid = 125'265,
        .test = 214'338,
        .homophily = 0.23,
        .signal = 2.7},
       ShippedAs::npz},
      {"arxiv",
       {.nodes = 169'343,
        .edges = 1'166'243,
        .classes = 40,
        .feature_columns = 128,
        .train = 90'941,
        .valid = 29'799,
        .test = 48'603,
        .homophily = 0.32,
        .signal = 2.3},
       ShippedAs::csv},
      {"products",
       {.nodes = 2'449'029,
        .edges = 61'859'140,
        .classes = 47,
        .feature_columns = 100,
        .train = 196'615,
        .valid = 39'323,
        .test = 2'213'091,
        .homophily = 0.18,
        .signal = 2.5},
       ShippedAs::csv},
  };
  return presets;
}

SynthOptions scaled(const SynthOptions& options, double scale) {
  const auto times = [&](uint64_t count, uint64_t least) {
    return std::max(least, static_cast<uint64_t>(std::llround(static_cast<double>(count) * scale)));
  };
  SynthOptions result = options;
  result.nodes = times(options.nodes, kFewestNodes);
  result.edges = times(options.edges, 1);
  result.train = times(options.train, 1);
  result.valid = times(options.valid, 1);
  result.test = times(options.test, 1);
  // Rounding may have made one node too many.
  const uint64_t others = result.train + result.valid;
  if (others + result.test > result.nodes && others < result.nodes)
    result.test = result.nodes - others;
  result.classes = static_cast<uint32_t>(std::min<uint64_t>(options.classes, result.nodes / 2));
  return result;
}

void check(const SynthOptions& options) {
  if (options.nodes < kFewestNodes || options.nodes > graph::kMostNodes) {
    fail(ErrorKind::usage, "--nodes {}: from {} to {}", options.nodes, kFewestNodes,
         graph::kMostNodes);
  }
  if (options.edges == 0) fail(ErrorKind::usage, "--edges 0: at least one");
  if (options.classes == 0 || options.classes > options.nodes / 2) {
    fail(ErrorKind::usage, "--classes {}: from 1 to half the nodes", options.classes);
  }
  if (options.feature_columns == 0 || options.feature_columns > 65536) {
    fail(ErrorKind::usage, "--features {}: from 1 to 65536", options.feature_columns);
  }
  if (!(options.homophily >= 0 && options.homophily <= 1)) {
    fail(ErrorKind::usage, "--homophily {}: from 0 to 1", options.homophily);
  }
  if (!(options.signal >= 0 && options.signal <= 1000)) {
    fail(ErrorKind::usage, "--signal {}: from 0 to 1000", options.signal);
  }
  if (options.train + options.valid + options.test > options.nodes) {
    fail(ErrorKind::usage, "train, valid and test together have {} nodes, but the graph has {}",
         options.train + options.valid + options.test, options.nodes);
  }
}

SynthGraph::Permutation::Permutation(uint64_t count, uint64_t bits) : modulus(count) {
  // With a multiplier near the golden ratio, neighbours get ids that are far apart. It must have no
  // common divisor with the modulus.
  multiplier = static_cast<uint64_t>(static_cast<double>(modulus) * 0.6180339887498949);
  multiplier = std::max<uint64_t>(1, multiplier - below(mix64(bits), modulus / 16 + 1));
  while (std::gcd(multiplier, modulus) != 1) ++multiplier;
  inverse = inverse_modulo(multiplier, modulus);
  shift = below(bits, modulus);
}

uint64_t SynthGraph::bytes_needed(const SynthOptions& options) {
  return memory::Buffer<uint64_t>::bytes_needed(uint64_t{options.classes} + 1) +
         memory::Buffer<float>::bytes_needed(center_values(options));
}

SynthGraph::SynthGraph(const SynthOptions& options, memory::Ledger& ledger)
    : options_(options),
      shape_{.nodes = options.nodes,
             .edges = options.edges,
             .feature_columns = options.feature_columns,
             .has_labels = true,
             .classes = options.classes},
      edge_stream_(options.seed, kEdges),
      feature_stream_(options.seed, kFeatures),
      ids_(options.nodes, RandomStream(options.seed, kIds).at(0)),
      labels_(options.nodes, RandomStream(options.seed, kLabels).at(0)),
      class_begin_(ledger, "classes", uint64_t{options.classes} + 1),
      centers_(ledger, "classes", center_values(options)) {
  fill_class_boundaries(options.nodes, options.classes, class_begin_.span());
  while ((options.nodes >> hint_shift_) > kNormalTable) ++hint_shift_;
  for (uint64_t i = 0; i < options.nodes; i += uint64_t{1} << hint_shift_) {
    const uint64_t* const after = std::upper_bound(class_begin_.begin(), class_begin_.end(), i);
    class_hint_.push_back(static_cast<uint32_t>(after - class_begin_.begin() - 1));
  }
  for (size_t i = 0; i < kNormalTable; ++i) {
    const double quantile = normal_quantile((static_cast<double>(i) + 0.5) / kNormalTable);
    normal_.push_back(kFeatureScale * static_cast<float>(quantile));
  }
  const RandomStream center_stream(options.seed, kCenters);
  const double spread = options.signal / std::sqrt(static_cast<double>(options.feature_columns));
  for (uint64_t i = 0; i < centers_.size(); ++i) {
    centers_[i] = static_cast<float>(spread) * normal_[center_stream.at(i) % kNormalTable];
  }
}

uint32_t SynthGraph::class_of_index(uint64_t internal) const {
  uint32_t c = class_hint_[internal >> hint_shift_];
  while (class_begin_[c + 1] <= internal) ++c;
  return c;
}

SynthGraph::Edge SynthGraph::edge(uint64_t index) const {
  // Each edge uses three random words. A self-loop is drawn again from words far away in the
  // stream, which no other edge uses.
  for (uint64_t attempt = 0;; ++attempt) {
    const uint64_t at = index * 3 + attempt * 0x9e3779b97f4a7c15U;
    const double u = unit_interval(edge_stream_.at(at));
    const auto n = static_cast<double>(options_.nodes);
    const auto source = static_cast<uint64_t>(n * skew<6>(u, 0.4));
    const uint64_t choice = edge_stream_.at(at + 1);
    // The high bits of `choice` decide whether the edge stays within its class; all of its bits
    // select the other class.
    const bool stay = unit_interval(choice) < options_.homophily;
    const uint64_t about = stay ? ids_.backward(source) : below(mix64(choice), options_.nodes);
    const uint32_t c = class_of_index(about);
    const double rank = unit_interval(edge_stream_.at(at + 2));
    const auto size = static_cast<double>(class_begin_[c + 1] - class_begin_[c]);
    const auto offset = static_cast<uint64_t>(kCitedShare * size * skew<8>(rank, 0.25));
    const uint64_t destination = ids_.forward(class_begin_[c] + offset);
    if (source != destination) {
      return {static_cast<uint32_t>(source), static_cast<uint32_t>(destination)};
    }
  }
}

size_t SynthGraph::next_edges(std::span<uint32_t> sources, std::span<uint32_t> destinations) {
  const uint64_t begin = next_edge_.fetch_add(sources.size());
  if (begin >= options_.edges) return 0;
  const size_t count = std::min<uint64_t>(sources.size(), options_.edges - begin);
  for (size_t i = 0; i < count; ++i) {
    const Edge made = edge(begin + i);
    sources[i] = made.source;
    destinations[i] = made.destination;
  }
  return count;
}

void SynthGraph::make_row(uint32_t node, std::span<float> values) const {
  const uint64_t columns = options_.feature_columns;
  const float* const center = &centers_[class_of_index(ids_.backward(node)) * columns];
  // A word gives four draws of 16 bits; the table uses 12 bits of each.
  const uint64_t words = (columns + 3) / 4;
  for (uint64_t word = 0, j = 0; word < words; ++word) {
    uint64_t bits = feature_stream_.at(node * words + word);
    for (int part = 0; part < 4 && j < columns; ++part, ++j, bits >>= 16) {
      values[j] = center[j] + normal_[bits % kNormalTable];
    }
  }
}

void SynthGraph::rows_of(std::span<const uint32_t> nodes, std::span<float> values) const {
  const uint64_t columns = options_.feature_columns;
  for (size_t i = 0; i < nodes.size(); ++i)
    make_row(nodes[i], values.subspan(i * columns, columns));
}

InputGraph::Rows SynthGraph::next_rows(std::span<float> values) {
  const uint64_t columns = options_.feature_columns;
  const uint64_t fitting = values.size() / columns;
  const uint64_t begin = next_row_.fetch_add(fitting);
  if (begin >= options_.nodes) return {};
  const uint64_t count = std::min(fitting, options_.nodes - begin);
  for (uint64_t i = 0; i < count; ++i) {
    make_row(static_cast<uint32_t>(begin + i), values.subspan(i * columns, columns));
  }
  return {begin, count};
}

void SynthGraph::read_labels(const LabelSink& sink) {
  const uint64_t labelled = options_.train + options_.valid + options_.test;
  std::vector<int32_t> piece(kLabelsPerPiece);
  for (uint64_t begin = 0; begin < options_.nodes; begin += kLabelsPerPiece) {
    const uint64_t count = std::min<uint64_t>(kLabelsPerPiece, options_.nodes - begin);
    for (uint64_t i = 0; i < count; ++i) {
      const bool is_labelled = labels_.backward(begin + i) < labelled;
      piece[i] = is_labelled ? static_cast<int32_t>(class_of_index(ids_.backward(begin + i))) : -1;
    }
    sink(std::span(piece).first(count));
  }
}

void SynthGraph::read_splits(const SplitSink& sink) {
  uint64_t place_among_labelled = 0;
  const std::array sizes = {options_.train, options_.valid, options_.test};
  for (const SplitKind split : kSplits) {
    for (uint64_t row = 0; row < sizes.at(static_cast<size_t>(split)); ++row) {
      sink(split, row, static_cast<uint32_t>(labels_.forward(place_among_labelled++)));
    }
  }
}

std::string SynthGraph::place(InputPart /*part*/, uint64_t row) const {
  return fmt::format("the generator, row {}", row);
}

const SynthPreset* find_preset(const std::string& name) {
  for (const SynthPreset& preset : synth_presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

SynthOptions free_shape(uint64_t nodes) {
  return {.nodes = nodes,
          .classes = 16,
          .feature_columns = 128,
          .train = nodes - nodes / 5 * 2,
          .valid = nodes / 5,
          .test = nodes / 5,
          .homophily = 0.3,
          .signal = 2.5};
}

SynthOptions synth_options(const SynthRequest& request) {
  const SynthPreset* preset = find_preset(request.preset);
  if (!(request.scale > 0 && request.scale <= 1000)) {
    fail(ErrorKind::usage, "--scale {}: more than 0 and at most 1000", request.scale);
  }
  if (preset == nullptr && (!request.nodes || !request.edges)) {
    fail(ErrorKind::usage, "give a preset (papers100M, arxiv, products), or --nodes and --edges");
  }
  // The scale applies to the preset only. Numbers that the user gave are not scaled, and the splits
  // follow the number of nodes.
  SynthOptions shape =
      preset == nullptr ? free_shape(*request.nodes) : scaled(preset->options, request.scale);
  if (preset != nullptr && request.nodes) {
    const uint64_t edges = shape.edges;
    shape = scaled(shape, static_cast<double>(*request.nodes) / static_cast<double>(shape.nodes));
    shape.edges = edges;
  }
  shape.nodes = request.nodes.value_or(shape.nodes);
  shape.edges = request.edges.value_or(shape.edges);
  shape.classes = request.classes.value_or(shape.classes);
  shape.feature_columns = request.features.value_or(shape.feature_columns);
  shape.homophily = request.homophily.value_or(shape.homophily);
  shape.signal = request.signal.value_or(shape.signal);
  shape.seed = request.seed;
  check(shape);
  return shape;
}

nlohmann::json describe_generator(const SynthRequest& request, const SynthOptions& shape) {
  return {{"preset", request.preset.empty() ? "none" : request.preset},
          {"scale", request.scale},
          {"seed", shape.seed},
          {"homophily", shape.homophily},
          {"signal", shape.signal},
          {"edges", shape.edges}};
}

}  // namespace plimsoll::ingest
